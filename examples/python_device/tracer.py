"""A device in Python: a process with memory of its own, which says on stderr what it is asked.

GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=examples/python_device/tracer.py:Tracer ./program
"""

import ctypes
import multiprocessing
import sys
import threading

from gompy.plugins.python import Device
from gompy.plugins.python.images import LoadedImage, become_device

spawn = multiprocessing.get_context("spawn")  # not fork: the device is to have nothing of the host's


def serve(pipe, number):
    """The device process: answers requests until the host is gone."""
    become_device(number)
    libc = ctypes.CDLL(None)
    libc.aligned_alloc.restype = ctypes.c_void_p
    images = []

    def load(data):
        images.append(LoadedImage(data))
        return images[-1].table

    answer = {
        "load_image": load,
        "alloc": lambda size: libc.aligned_alloc(64, ctypes.c_size_t((size + 63) & ~63)),
        "free": lambda address: libc.free(ctypes.c_void_p(address)),
        "host2dev": lambda address, data: ctypes.memmove(address, data, len(data)) and None,
        "dev2host": lambda address, size: ctypes.string_at(address, size),
        "run": LoadedImage.call,
    }
    while True:
        try:
            method, *arguments = pipe.recv()
            try:
                reply = answer[method](*arguments)
            except Exception as error:
                reply = error
            pipe.send(reply)
        except (EOFError, OSError):
            return


class Tracer(Device):
    name = "tracer"

    def init(self, device):
        self.turn = threading.Lock()
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=serve, args=(theirs, device), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, method, *arguments):
        with self.turn:
            try:
                self.pipe.send((method, *arguments))
                answer = self.pipe.recv()
            except (EOFError, OSError):
                self.process.join()
                raise RuntimeError(f"the device process ended ({self.process.exitcode})") from None
        shown = [f"<{len(a)} bytes>" if isinstance(a, bytes) else f"{a:#x}" for a in arguments]
        print(f"tracer: {method}({', '.join(shown)})", file=sys.stderr)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def load_image(self, device, image):
        return self.ask("load_image", image.data)

    def alloc(self, device, size):
        return self.ask("alloc", size)

    def free(self, device, address):
        self.ask("free", address)

    def host2dev(self, device, address, data):
        self.ask("host2dev", address, bytes(data))

    def dev2host(self, device, data, address):
        data[:] = self.ask("dev2host", address, len(data))

    def run(self, device, function, variables, launch):
        self.ask("run", function, variables)

    def fini(self, device):
        with self.turn:
            self.pipe.close()
        self.process.join()
