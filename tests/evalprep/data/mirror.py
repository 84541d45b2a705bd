"""A hub on 127.0.0.1: the few routes that `huggingface_hub` and `datasets` use, over folders on disk."""

import hashlib
import http.server
import json
import re
import threading
import urllib.parse
from contextlib import contextmanager

COMMIT = "c" * 40
_REPO = re.compile(r"(?:/api)?/datasets/([^/]+/[^/]+)(.*)")


class Mirror(http.server.BaseHTTPRequestHandler):
    """Serves `<folder>/<name>` as the data set `org/<name>`, and of any other owner."""

    folder = None
    log: list[str] = []  # noqa: RUF012 - one server per subclass

    def do_GET(self, *, body=True):
        self.log.append(self.path)
        path = urllib.parse.unquote(self.path.split("?")[0])
        found = _REPO.match(path)
        if "gated" in path:
            return self.send(403, b"", {"X-Error-Code": "GatedRepo"})
        if not found or not (self.folder / found[1].partition("/")[2]).is_dir():
            return self.send(401, b"", {"X-Error-Code": "RepoNotFound"})
        name, rest = found[1], found[2]
        root = self.folder / name.partition("/")[2]
        if "/resolve/" in rest:
            return self.send_file(root / rest.split("/resolve/", 1)[1].split("/", 1)[1], body=body)
        if "/tree/" in rest:
            below = rest.split("/tree/", 1)[1].partition("/")[2].strip("/")
            return self.send_json(self.tree(root, below), body=body)
        files = [entry.relative_to(root).as_posix() for entry in root.rglob("*") if entry.is_file()]
        data = {
            "id": name,
            "sha": COMMIT,
            "siblings": [{"rfilename": file} for file in files],
            "private": False,
        }
        data |= {"gated": False, "disabled": False, "downloads": 0, "likes": 0, "tags": []}
        return self.send_json({**data, "lastModified": "2026-01-01T00:00:00.000Z"}, body=body)

    def do_HEAD(self):
        self.do_GET(body=False)

    def do_POST(self):
        """`paths-info`: what is at some paths."""
        given = self.rfile.read(int(self.headers["Content-Length"])).decode()
        paths = (
            json.loads(given)["paths"]
            if given.startswith("{")
            else urllib.parse.parse_qs(given)["paths"]
        )
        root = self.folder / _REPO.match(urllib.parse.unquote(self.path))[1].partition("/")[2]
        self.send_json([self.entry(root, root / path) for path in paths if (root / path).exists()])

    def tree(self, root, below):
        everything = "recursive=true" in self.path.lower()
        entries = (root / below).rglob("*") if everything else (root / below).glob("*")
        return [self.entry(root, entry) for entry in sorted(entries)]

    @staticmethod
    def entry(root, path):
        kind = "file" if path.is_file() else "directory"
        return {
            "type": kind,
            "path": path.relative_to(root).as_posix(),
            "size": path.stat().st_size if kind == "file" else 0,
            "oid": hashlib.sha1(str(path).encode()).hexdigest(),
        }

    def send_file(self, path, *, body):
        if not path.is_file():
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
        content = path.read_bytes()
        etag = hashlib.sha1(content + path.name.encode()).hexdigest()
        return self.send(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, body=body)

    def send_json(self, data, *, body=True):
        return self.send(
            200, json.dumps(data).encode(), {"Content-Type": "application/json"}, body=body
        )

    def send(self, code, content, headers, *, body=True):
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def hub(folder, home):
    """A hub over a folder of data sets: its handler, and the environment of a process that uses it."""
    handler = type("Served", (Mirror,), {"folder": folder, "log": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield (
            handler,
            {
                "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
                "HF_HOME": str(home / "hf"),
                "HF_DATASETS_CACHE": str(home / "datasets"),
                "XDG_CACHE_HOME": str(home / "cache"),
                "HF_HUB_OFFLINE": "0",
                "HF_HUB_DISABLE_XET": "1",
            },
        )
    finally:
        server.shutdown()
