"""A server in the place of Bedrock. It prints its address, and then each request as a line of JSON.

It answers a question first with a call of search_conversations, and then with what that found.
"""

import http.server
import json


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(json.dumps({"path": self.path, "call": call}), flush=True)
        found = [block["toolResult"] for block in call["messages"][-1]["content"] if "toolResult" in block]
        asked = call["messages"][-1]["content"][-1].get("text", "")
        if found:
            said = [{"text": "Found: " + json.dumps(found[0]["content"][0]["json"])}]
        elif asked.endswith("?"):
            said = [{"toolUse": {"toolUseId": "tool-1", "name": "search_conversations", "input": {"query": asked}}}]
        else:
            said = [{"text": "Noted."}]
        reason = "tool_use" if "toolUse" in said[0] else "end_turn"
        body = json.dumps({
            "output": {"message": {"role": "assistant", "content": said}}, "stopReason": reason,
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1},
        }).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
