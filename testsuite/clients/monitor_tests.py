"""Monitors of GPUs on the emulated one: what each shows of a process that has 3 MiB of its memory."""

import ctypes
import json
import subprocess
import sys
import unittest
from pathlib import Path

import gpustat
import pynvml
from nvitop import Device, host
from py3nvml import py3nvml

BYTES = 3 << 20
NAME = "gompy emulated GPU"
USER = f"""
import ctypes
cuda, p = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert not cuda.cuInit(0) and not cuda.cuCtxCreate_v2(ctypes.byref(p), 0, 0)
assert not cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t({BYTES}))
print("ready", flush=True)
input()
"""


class Monitors(unittest.TestCase):
    """A process uses the GPU meanwhile."""

    def setUp(self):
        self.user = subprocess.Popen(
            [sys.executable, "-c", USER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.assertEqual(self.user.stdout.readline(), "ready\n")

    def tearDown(self):
        self.user.communicate("\n")

    def command(self, *words):
        """What a command of the environment prints."""
        program = Path(sys.executable).parent / words[0]
        done = subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_nvidia_ml_py(self):
        pynvml.nvmlInit()
        device = pynvml.nvmlDeviceGetHandleByIndex(0)
        self.assertTrue(pynvml.nvmlDeviceGetName(device).startswith(NAME))
        users = {row.pid: row.usedGpuMemory for row in pynvml.nvmlDeviceGetComputeRunningProcesses(device)}
        self.assertEqual(users[self.user.pid], BYTES)
        self.assertRaises(pynvml.NVMLError_NotSupported, pynvml.nvmlDeviceGetTemperature, device, 0)
        pynvml.nvmlShutdown()

    def test_nvitop(self):
        device = Device.all()[0]
        self.assertTrue(device.name().startswith(NAME))
        self.assertEqual(device.processes()[self.user.pid].gpu_memory(), BYTES)
        self.assertEqual(host.Process(self.user.pid).pid, self.user.pid)
        self.assertGreaterEqual(device.memory_used(), BYTES)
        self.assertEqual(device.temperature(), "N/A")
        self.assertIn(device.gpu_utilization(), range(101))

    def test_nvitop_command(self):
        shown = self.command("nvitop", "-1")
        self.assertIn(str(self.user.pid), shown)
        self.assertIn("3.00MiB", shown)

    def test_gpustat(self):
        rows = gpustat.GPUStatCollection.new_query().jsonify()["gpus"]
        self.assertTrue(rows[0]["name"].startswith(NAME))
        self.assertEqual({row["pid"]: row["gpu_memory_usage"] for row in rows[0]["processes"]}[self.user.pid], 3)

    def test_gpustat_command(self):
        found = json.loads(self.command("gpustat", "--json"))
        self.assertIn(self.user.pid, [row["pid"] for row in found["gpus"][0]["processes"]])

    def test_py3nvml(self):
        py3nvml.nvmlInit()
        device = py3nvml.nvmlDeviceGetHandleByIndex(0)
        users = {row.pid: row.usedGpuMemory for row in py3nvml.nvmlDeviceGetComputeRunningProcesses(device)}
        self.assertEqual(users[self.user.pid], BYTES)
        self.assertIn("N/A", self.command("py3smi"))

    def test_by_the_c_interface(self):
        library = ctypes.CDLL("libnvidia-ml.so.1")
        self.assertEqual(library.nvmlDeviceGetCount_v2(ctypes.byref(ctypes.c_uint())), 1)
        self.assertEqual(library.nvmlInit_v2(), 0)
        self.assertEqual(library.nvmlShutdown(), 0)
