# Delays the packets of a queue of the firewall (NFQUEUE), for a kernel without netem: delay.py MILLISECONDS
import heapq, select, socket, struct, sys, time

delay = float(sys.argv[1]) / 1000
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)  # NETLINK_NETFILTER
netlink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
netlink.bind((0, 0))


def send(kind, attribute, value):
    padded = value + b"\0" * (-len(value) % 4)
    body = struct.pack("=BBH", 0, 0, 0) + struct.pack("=HH", 4 + len(value), attribute) + padded
    # The queue 0, messages of the subsystem 3.
    netlink.send(struct.pack("=IHHII", 16 + len(body), 3 << 8 | kind, 1, 0, 0) + body)


send(2, 1, struct.pack(">BxH", 1, 0))  # bind
send(2, 2, struct.pack(">IB", 0, 1))  # only the packets' ids
send(2, 3, struct.pack(">I", 100000))  # length of the queue
print("ready", flush=True)
waiting = []
while True:
    rest = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    if select.select([netlink], [], [], rest)[0]:
        data = netlink.recv(65536)
        while len(data) >= 16:
            length, kind = struct.unpack_from("=IH", data)
            if kind == 3 << 8:
                at = 20
                while at < length:
                    size, attribute = struct.unpack_from("=HH", data, at)
                    if attribute & 0x7FFF == 1:
                        (packet,) = struct.unpack_from(">I", data, at + 4)
                        heapq.heappush(waiting, (time.monotonic() + delay, packet))
                    at += (size + 3) & ~3
            data = data[(length + 3) & ~3 :]
    while waiting and waiting[0][0] <= time.monotonic():
        send(1, 2, struct.pack(">II", 1, heapq.heappop(waiting)[1]))  # accept
