import os

from oauthlib.oauth2 import BackendApplicationClient, InvalidClientError
from requests_oauthlib import OAuth2Session

url, client_id = os.environ["BASE_URL"], os.environ["CLIENT_ID"]
session = OAuth2Session(client=BackendApplicationClient(client_id=client_id, scope=["transfers:read"]))
session.fetch_token(f"{url}/oauth/token", client_id=client_id, client_secret=os.environ["CLIENT_SECRET"])
status = session.get(f"{url}/transfers").status_code
try:
    session.fetch_token(f"{url}/oauth/token", client_id=client_id, client_secret="wrong")
except InvalidClientError as error:
    print(status, error.error)
