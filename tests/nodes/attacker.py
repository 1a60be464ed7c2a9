"""What an untrusted peer in the network does to processes of a launch; started by attacks_test.py inside a namespace.

attacker.py KIND TARGET... [--count N] [--seconds S] [--credentials DIR] [--node NAME] [--secret HEX] [--version TEXT]
            [--network ADDRESS/BITS]

A TARGET is ADDRESS:PORT. Prints one line of JSON: "tried", "connected", and "gained": bytes that a peer sent inside
TLS, or outside of it that are no TLS record. DIR has cert.pem, key.pem and ca.pem. Frames: docs/wire.md.
"""
import argparse
import collections
import ipaddress
import json
import os
import select
import socket
import ssl
import struct
import time

PATIENCE = 15
LINK = bytes([0x92, 0x0f, 0xc0])
PING = bytes([0x91, 0x0b])
REQUEST = b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"
# limits::frame_version: another one is refused before anything of an attack is looked at.
FRAME_VERSION = 4


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def frame(header, payload=b""):
    start = b"TRPE" + struct.pack(">HHQ", FRAME_VERSION, len(header), len(payload))
    return start + struct.pack(">I", crc32c(start + header)) + header + payload


def number(value):
    return b"\xcf" + struct.pack(">Q", value) if value >= 1 << 32 else bytes([value])


def hello():
    words = [int.from_bytes(os.urandom(8), "big") | 1 << 63 for _ in range(6)]
    return frame(b"\x9b" + b"".join(map(number, [9, 0, 1, 0, 2, *words])))


def join(version, node, secret):
    text = lambda size, said: struct.pack(size, len(said)) + said
    payload = text(">B", version.encode()) + text(">B", node.encode()) + secret + text(">H", REQUEST)
    return frame(b"\x92\x10" + (b"\xcd" + struct.pack(">H", len(payload))), payload)


class attack:
    def __init__(self, given):
        self.given = given
        self.tried = self.connected = self.gained = 0

    def connect(self, target):
        self.tried += 1
        address, port = target.rsplit(":", 1)
        try:
            made = socket.create_connection((address, int(port)), PATIENCE)
        except OSError:
            return None
        self.connected += 1
        return made

    def read_all(self, stream):
        """What comes until the peer closes; it must do so."""
        got = b""
        try:
            while part := stream.recv(65536):
                got += part
        except TimeoutError:
            raise SystemExit(f"not closed within {PATIENCE} s")
        except OSError:
            pass
        return got

    def context(self):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
        if self.given.credentials:
            made.load_cert_chain(f"{self.given.credentials}/cert.pem", f"{self.given.credentials}/key.pem")
        return made

    def say_in_tls(self, target, what):
        if not (plain := self.connect(target)):
            return
        try:
            with self.context().wrap_socket(plain) as secure:
                secure.sendall(what)
                self.gained += len(self.read_all(secure))
        except OSError:
            pass

    def say_plainly(self, target, what):
        if not (plain := self.connect(target)):
            return
        with plain:
            try:
                plain.sendall(what)
                plain.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            got = self.read_all(plain)
            # 21: an alert; nothing else comes before the peer's first flight, which needs a right first word
            if got and got[0] != 21:
                self.gained += len(got)

    def repeat(self, what):
        for _ in range(self.given.count):
            for target in self.given.targets:
                what(target)

    def garbage(self):
        starts = [b"", b"\x16\x03\x01\x02\x00\x01", b"TRPE", b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 20, frame(LINK), hello()]
        for turn in range(self.given.count):
            for target in self.given.targets:
                self.say_plainly(target, starts[turn % len(starts)] + os.urandom(turn * 37 % 5000))

    def first_words(self):
        """All that a first frame could be, with the certificate that there is, or with none."""
        secret = bytes.fromhex(self.given.secret) if self.given.secret else os.urandom(32)
        words = [join(self.given.version, self.given.node, secret), hello(), frame(PING), os.urandom(100),
                 frame(b"\x92\x0e\x05", b"hello"), frame(LINK)[:20]]
        for turn in range(self.given.count):
            for target in self.given.targets:
                self.say_in_tls(target, words[turn % len(words)])

    def links(self):
        """The frame by which a node becomes one of the launch."""
        self.repeat(lambda target: self.say_in_tls(target, frame(LINK)))

    def joins(self):
        secret = bytes.fromhex(self.given.secret) if self.given.secret else None
        self.repeat(lambda target: self.say_in_tls(
            target, join(self.given.version, self.given.node, secret or os.urandom(32))))

    def flood(self):
        """Many connections that say nothing, of which the last ones stay open."""
        end = time.monotonic() + self.given.seconds
        held = collections.deque(maxlen=300)
        while self.tried < self.given.count and time.monotonic() < end:
            for target in self.given.targets:
                held.append(self.connect(target))

    def hold(self):
        """Connects and says nothing; each socket stays open until its peer closes it."""
        held = [made for _ in range(self.given.count) for target in self.given.targets if (made := self.connect(target))]
        end = time.monotonic() + self.given.seconds
        while held and time.monotonic() < end:
            for closed in select.select(held, [], [], 0.2)[0]:
                self.gained += len(self.read_all(closed))
                held.remove(closed)
        if held:
            raise SystemExit(f"{len(held)} are not closed within {self.given.seconds} s")

    def first_flight(self):
        """A right first word of TLS."""
        inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
        with_peer = self.context().wrap_bio(inside, outside)
        try:
            with_peer.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outside.read()

    def dribble_from(self, address, target, word, end):
        """One connection of this address after the other, each with a byte of `word` at each turn."""
        host, port = target.rsplit(":", 1)
        while time.monotonic() < end:
            self.tried += 1
            with socket.socket() as made:
                made.setblocking(False)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                made.bind((address, 0))
                made.connect_ex((host, int(port)))
                yield
                sent = 0
                while sent < len(word) and time.monotonic() < end:
                    try:
                        made.send(word[sent:sent + 1])
                        self.connected += sent == 0
                        sent += 1
                    except BlockingIOError:
                        pass  # not connected yet
                    except OSError:
                        break
                    yield

    def dribble(self):
        """From `count` addresses of the network one connection each that is never idle for long."""
        end = time.monotonic() + self.given.seconds
        word = self.first_flight()
        first = ipaddress.ip_network(self.given.network)[256]
        peers = [self.dribble_from(str(first + turn), self.given.targets[turn % len(self.given.targets)], word, end)
                 for turn in range(self.given.count)]
        pause = 0.03
        while peers:
            began = time.monotonic()
            peers = [each for each in peers if next(each, self) is None]
            time.sleep(max(0, began + pause - time.monotonic()))

    def slowly(self):
        """One byte a second of a right first word."""
        word = self.first_flight()
        held = [made for _ in range(self.given.count) for target in self.given.targets if (made := self.connect(target))]
        for at in range(int(self.given.seconds)):
            for each in list(held):
                try:
                    each.sendall(word[at:at + 1])
                    if select.select([each], [], [], 0)[0]:
                        self.gained += len(each.recv(65536))
                        held.remove(each)
                except OSError:
                    held.remove(each)
            if not held:
                return
            time.sleep(1)
        raise SystemExit(f"{len(held)} are not closed after {self.given.seconds} s")

    def pose_as_driver(self):
        """Listens as the driver would, with another certificate. An agent must not say its secret."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        chain = f"{self.given.credentials}/chain.pem"
        with open(chain, "w") as file:
            file.write(open(f"{self.given.credentials}/cert.pem").read() + open(f"{self.given.credentials}/ca.pem").read())
        context.load_cert_chain(chain, f"{self.given.credentials}/key.pem")
        address, port = self.given.targets[0].rsplit(":", 1)
        listener = socket.create_server((address, int(port)))
        listener.settimeout(self.given.seconds)
        while self.tried < self.given.count:
            plain, _ = listener.accept()
            self.tried += 1
            plain.settimeout(PATIENCE)
            try:
                with context.wrap_socket(plain, server_side=True) as secure:
                    self.connected += 1
                    self.gained += len(self.read_all(secure))
            except OSError:
                pass


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("kind")
    reader.add_argument("targets", nargs="+")
    reader.add_argument("--count", type=int, default=1)
    reader.add_argument("--seconds", type=float, default=60)
    for name in ("credentials", "node", "secret", "version", "network"):
        reader.add_argument(f"--{name}", default="")
    made = attack(reader.parse_args())
    getattr(made, made.given.kind)()
    print(json.dumps({"tried": made.tried, "connected": made.connected, "gained": made.gained}))


if __name__ == "__main__":
    main()
