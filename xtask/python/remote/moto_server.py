"""moto's server, with puts one after the other: its own threads look at the condition of a put and carry it out later, so
that of two writers both succeed.

Usage: moto_server.py, with the arguments of moto_server.
"""

import functools
import sys
import threading

from moto.s3.responses import S3Response
from moto.server import main

LOCK = threading.Lock()


def alone(method):
    @functools.wraps(method)
    def call(*args, **kwargs):
        with LOCK:
            return method(*args, **kwargs)

    return call


# The metadata of a value are set behind it: who looks at it waits, too.
S3Response.put_object = alone(S3Response.put_object)
S3Response.head_object = alone(S3Response.head_object)

if __name__ == "__main__":
    main(sys.argv[1:])
