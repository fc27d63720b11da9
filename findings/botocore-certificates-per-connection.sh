#!/usr/bin/env bash
# A client of boto3 reads its file of certificates again for each connection, also in one pool.
#
# Matters to: whoever starts many connections at once, such as eight threads of a Lambda function that has just started.
# Each of them parses over a hundred certificates before its first request. urllib3 with an `ssl_context` of its own reads
# them once.
# Versions: PyPI boto3 1.44.8 with botocore 1.44.8 and urllib3 2.8.0; Python 3.11 or newer with OpenSSL's command.
# Seen: eight requests at a time over one client: eight connections, and the file is read eight times.
# Source: https://urllib3.readthedocs.io/en/stable/advanced-usage.html (ssl_context); https://github.com/boto/botocore
# (httpsession.py makes the pools)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check boto3==1.44.8 botocore==1.44.8 urllib3==2.8.0
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out certificate.pem -subj /CN=127.0.0.1 \
    -addext subjectAltName=IP:127.0.0.1 2>/dev/null
env/bin/python - <<'PYTHON' | tee seen
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
import urllib3
from botocore.config import Config

AT_ONCE = 8
together = threading.Barrier(AT_ONCE, timeout=60)


class Dynamo(BaseHTTPRequestHandler):
    """Answers when eight requests are there, so each has a connection of its own."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        together.wait()
        answer = b'{"TableNames": []}'
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Dynamo)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"https://127.0.0.1:{server.server_address[1]}"
read = []
load = ssl.SSLContext.load_verify_locations


def counted(context, *args, **kwargs):
    read.append(args or kwargs)
    return load(context, *args, **kwargs)


ssl.SSLContext.load_verify_locations = counted


def show(name, request):
    for round_ in ("first", "second"):
        before = len(read)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(lambda _: request(), range(AT_ONCE)))
        print(f"{name}, {round_} {AT_ONCE} requests: certificates read {len(read) - before} times")


client = boto3.client(
    "dynamodb",
    endpoint_url=url,
    region_name="us-east-1",
    aws_access_key_id="none",
    aws_secret_access_key="none",
    verify="certificate.pem",
    config=Config(max_pool_connections=AT_ONCE),
)
show("boto3", client.list_tables)
before = len(read)
pool = urllib3.PoolManager(maxsize=AT_ONCE, ssl_context=ssl.create_default_context(cafile="certificate.pem"))
print(f"urllib3, one context: certificates read {len(read) - before} times")
show("urllib3", lambda: pool.request("POST", url, body=b"{}"))
server.shutdown()
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
boto3, first 8 requests: certificates read 8 times
boto3, second 8 requests: certificates read 0 times
urllib3, one context: certificates read 1 times
urllib3, first 8 requests: certificates read 0 times
urllib3, second 8 requests: certificates read 0 times
EXPECTED
echo "as it was found"
