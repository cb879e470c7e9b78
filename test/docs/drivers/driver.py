import base64
import json
import sys
from datetime import datetime

from verify import is_genuine

with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)


def verdict(case):
    now = case["now"] and datetime.fromisoformat(case["now"].replace("Z", "+00:00"))
    return is_genuine(case["header"], base64.b64decode(case["body_base64"]), case["secret"], now)


print(json.dumps([verdict(case) for case in cases]))
