# spack repo: put this file to packages/py-gompy/package.py.
from spack.package import *


class PyGompy(PythonPackage):
    """GCC's offloading on top of a stock gcc: real separate-memory devices on any machine."""

    license("MIT")

    version("0.1.0")

    variant("nvptx", default=False, description="GPU code, on real or emulated GPUs")

    depends_on("c", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("py-cython@3.0.10:", type="build")
    depends_on("py-pyelftools@0.31:", type=("build", "run"))
    depends_on("py-zstandard@0.22:", type=("build", "run"))
    depends_on("py-networkx@3:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-llvmlite@0.46:", type=("build", "run"))
    depends_on("binutils", type=("build", "run"))
    # The compilers that gompcc runs: configured with offload targets.
    depends_on("gcc@12:16 +nvptx", type="run", when="+nvptx")

    conflicts("platform=darwin")
    conflicts("target=aarch64:")
