# SPDX-License-Identifier: MIT
# usage: server.py COMPUTING
# A server in one interpreter: a thread for each connection answers lines, while
# COMPUTING threads compute all the time.  Whoever comes back from a system call
# waits for the interpreter lock.  Ends at SIGTERM.
import os
import signal
import socket
import sys
import threading


def compute():
    x = 1
    while True:
        for k in range(2000):
            x = x * k + 1 & 0xffffffff


def answer(connection):
    while line := connection.recv(100):
        connection.sendall(line)


for _ in range(int(sys.argv[1])):
    threading.Thread(target=compute, daemon=True).start()
listener = socket.create_server(("127.0.0.1", 0), backlog=100)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print(f"listening on 127.0.0.1:{listener.getsockname()[1]}", flush=True)
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=answer, args=(connection,), daemon=True).start()
