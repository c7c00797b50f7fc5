"""Makes a bucket of moto or a container of azurite.

Usage: bucket.py NAME, with the variables of the service's address.
"""

import base64
import email.utils
import hashlib
import hmac
import os
import sys
import urllib.request


def container(name):
    """The request for a container, signed with the key of the account."""
    endpoint = os.environ["AZURE_STORAGE_ENDPOINT"]
    account = os.environ["AZURE_STORAGE_ACCOUNT_NAME"]
    date = email.utils.formatdate(usegmt=True)
    version = "2021-12-02"
    path = urllib.request.urlparse(endpoint).path
    signed = f"PUT{chr(10) * 12}x-ms-date:{date}\nx-ms-version:{version}\n/{account}{path}/{name}\nrestype:container"
    key = base64.b64decode(os.environ["AZURE_STORAGE_ACCOUNT_KEY"])
    signature = base64.b64encode(hmac.digest(key, signed.encode(), hashlib.sha256)).decode()
    headers = {"x-ms-date": date, "x-ms-version": version, "Authorization": f"SharedKey {account}:{signature}"}
    return urllib.request.Request(f"{endpoint}/{name}?restype=container", method="PUT", headers=headers)


def main():
    if "AZURE_STORAGE_ENDPOINT" in os.environ:
        request = container(sys.argv[1])
    else:
        # moto does not check signatures.
        request = urllib.request.Request(f"{os.environ['AWS_ENDPOINT_URL']}/{sys.argv[1]}", method="PUT")
    urllib.request.urlopen(request).close()


if __name__ == "__main__":
    main()
