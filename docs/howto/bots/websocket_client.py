"""Play at a table as a remote bot: websocket_client.py wss://HOST/tables/ID/program TOKEN."""

import json
import sys
import time

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

url, token = sys.argv[1:]
had, answer, over = 0, None, False
while not over:
    address = f"{url}?after={had}" if had else url
    try:
        with connect(address, additional_headers={"Authorization": f"Bearer {token}"}) as socket:
            if answer:
                socket.send(answer)  # it may have been lost; the table drops one that it has
            while not over:
                message = json.loads(socket.recv())
                had, answer, over = had + 1, None, message["type"] == "match_over"
                if message["type"] == "hello":
                    answer = '{"type":"hello"}'
                elif message["type"] == "request":
                    answer = json.dumps({"id": message["id"], "choice": 0})
                if answer:
                    socket.send(answer)
    except (OSError, ConnectionClosed) as problem:
        code = problem.rcvd.code if isinstance(problem, ConnectionClosed) and problem.rcvd else None
        if code in (1000, 1008, 4001, 4004, 4011):
            raise
        time.sleep(1)  # the seat is kept
