import os
import time

from authlib.integrations.requests_client import OAuth2Session

url = os.environ["BASE_URL"]
session = OAuth2Session(
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    token_endpoint=f"{url}/oauth/token",
    grant_type="client_credentials",
)
first = session.fetch_token()
session.token = {**first, "expires_at": int(time.time()) - 1}
status = session.get(f"{url}/transfers").status_code
print(status, "renewed" if session.token["access_token"] != first["access_token"] else "not renewed")
