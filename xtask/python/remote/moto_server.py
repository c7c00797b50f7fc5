"""moto's server, with puts one after the other: its own threads check the condition of a put and carry it out later, so
that two writers may both succeed.

Usage: moto_server.py, with the arguments of moto_server.
"""

import functools
import sys
import threading

from moto.s3.responses import S3Response
from moto.server import main

LOCK = threading.Lock()


def serialized(method):
    @functools.wraps(method)
    def call(*args, **kwargs):
        with LOCK:
            return method(*args, **kwargs)

    return call


# The metadata of a value are set after it, so HEAD requests wait, too.
S3Response.put_object = serialized(S3Response.put_object)
S3Response.head_object = serialized(S3Response.head_object)

if __name__ == "__main__":
    main(sys.argv[1:])
