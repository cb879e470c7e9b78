import json
import sys

from verify import is_genuine

with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)
print(json.dumps([is_genuine(case["header"], case["body"].encode(), case["secret"]) for case in cases]))
