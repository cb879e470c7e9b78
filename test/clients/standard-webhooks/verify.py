import os
from standardwebhooks import Webhook

headers = {f"webhook-{name}": os.environ[name.upper()] for name in ("id", "timestamp", "signature")}
webhook = Webhook(os.environ["SECRET"])
event = webhook.verify(os.environ["BODY"], headers)
try:
    webhook.verify(os.environ["BODY"] + " ", headers)
except Exception as error:
    print(event["id"], type(error).__name__)
