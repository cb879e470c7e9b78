"""An inbox for Postgres in forty lines, to copy: each event has its effect exactly once. It needs psycopg 3.

    create table inbox_events (id uuid primary key, transfer_id uuid not null, created_at timestamp(3) not null);
    create index on inbox_events (transfer_id, created_at);
    create table inbox_cursor (cursor text);

`on_event(event, tx, is_late)` writes with `tx`. `read_page(cursor)` returns the JSON of
GET /events?order=oldest&limit=100, with `&cursor=…` unless it is None.
"""

import json

from transfer_service_webhooks import SignatureError, verify


def receive(db, header, body, secrets, on_event):
    """Handles a push and returns the status of the response. If on_event raises, respond with 500."""
    for secret in secrets:
        try:
            verify(header, body, secret)
        except SignatureError:
            continue
        handle(db, json.loads(body), on_event)
        return 204
    return 401


def poll(db, read_page, on_event):
    """Reads the feed from the durable cursor to its end. Run it each hour, at least once in the retention period."""
    row = db.execute("select cursor from inbox_cursor").fetchone()
    page = {"has_more": True, "next_cursor": row and row[0]}
    while page["has_more"]:
        page = read_page(page["next_cursor"])
        for event in page["data"]:
            handle(db, event, on_event)
        with db.transaction():
            db.execute("delete from inbox_cursor")
            db.execute("insert into inbox_cursor values (%s)", [page["next_cursor"]])


def handle(db, event, on_event):
    transfer, at = event["data"]["id"], event["created_at"]
    with db.transaction():
        # The events of a transfer take turns.
        db.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [transfer])
        late = "select 1 from inbox_events where transfer_id = %s and created_at > %s::timestamp"
        is_late = db.execute(late, [transfer, at]).fetchone() is not None
        insert = "insert into inbox_events values (%s, %s, %s) on conflict do nothing"
        if db.execute(insert, [event["id"], transfer, at]).rowcount == 1:
            on_event(event, db, is_late)
