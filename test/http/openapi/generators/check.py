import os
import uuid

import openapi_client as api

configuration = api.Configuration(host=os.environ["BASE_URL"])
with api.ApiClient(configuration) as client:
    token = api.TokensApi(client).request_token(
        api.TokenRequest(
            grant_type="client_credentials",
            client_id=os.environ["CLIENT_ID"],
            client_secret=os.environ["CLIENT_SECRET"],
        )
    )
    configuration.access_token = token.access_token
    endpoint = api.WebhookEndpointsApi(client).register_webhook_endpoint(
        api.WebhookEndpointCreate(url="https://example.com/hooks", secret="whsec_0123456789abcdef")
    )
    transfers = api.TransfersApi(client)
    transfer = transfers.create_transfer(
        api.TransferCreate(
            amount=api.Amount(value=9007199254740991, currency="EUR"),
            destination=api.Destination(name="Ada", account="DE89"),
        ),
        idempotency_key=str(uuid.uuid4()),
    )
    page = api.EventsAndDeliveriesApi(client).list_events(limit=1)
    try:
        transfers.get_transfer(uuid.uuid4())
    except api.exceptions.NotFoundException as error:
        code = error.data.code
    print(endpoint.enabled, transfer.status.value, transfer.amount.value, page.data[0].data.status, code)
