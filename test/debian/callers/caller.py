"""An old integration in Python with nothing but urllib, which labels every body as a form.

Calls come as JSON on standard input; each answer goes out as a line with the status, a tab and the body.
"""

import base64
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

shape, credential = sys.argv[1:]
authorization = "Basic " + base64.b64encode(credential.encode()).decode()

for call in json.load(sys.stdin):
    data = None
    if call["method"] == "POST" and shape == "form":
        data = urllib.parse.urlencode(call["fields"]).encode()
    elif call["method"] == "POST":
        data = json.dumps(call["fields"], ensure_ascii=False).encode()
    request = urllib.request.Request(call["url"], data, {"Authorization": authorization})
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        answer = error
    sys.stdout.buffer.write(b"%d\t%s\n" % (answer.status, answer.read()))
