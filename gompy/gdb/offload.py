"""gdb's commands for programs with device regions; ``gompy run --under gdb`` loads it, ``source offload.py`` does, too.

The device of the emulated MIC is a process that the program starts.  gdb keeps it as another inferior, lets both run
together, and lets the device go when the program ends it.  The emulated GPU is in the program's own process; it tells
gdb of its code where GOMPY_CUDA_DEBUG is set (gompy/ptx/gdb_jit.h).  This file runs in the Python that gdb has, which
may be another than gompy's: it imports gdb alone.
"""

from __future__ import annotations

import gdb

DEVICE_PROGRAM = "offload_target_main"
REGIONS = ("._omp_fn.", "__omp_offloading_")  # in the names of gcc's and of clang's
DEBUG = "_debug__"  # clang has the body of a region in a function of its own, where there is debug information
GPU = "nvptx"
LAUNCH = "GOMP_OFFLOAD_"  # what the program is in while it has a GPU's region run
STATES = {0: "not started", 1: "running", 2: "finalized"}
SETTINGS = (
    ("detach-on-fork", "off"),
    ("follow-fork-mode", "parent"),
    ("schedule-multiple", "on"),
    ("breakpoint pending", "on"),
    ("print inferior-events", "off"),
    ("print symbol-loading", "off"),
    ("disable-randomization", "off"),  # the device's addresses must not meet the program's
)


def set_up() -> None:
    """gdb's settings for a program and its devices together."""
    for name, value in SETTINGS:
        gdb.execute(f"set {name} {value}", to_string=True)


def program() -> gdb.Inferior:
    """The process that runs the program; gdb.GdbError if none runs."""
    for inferior in gdb.inferiors():
        if inferior.pid and not is_device(inferior):
            return inferior
    raise gdb.GdbError("The program is not being run.")


def is_device(inferior: gdb.Inferior) -> bool:
    """Whether a process is a device."""
    return (inferior.progspace.filename or "").endswith("/" + DEVICE_PROGRAM)


def devices() -> list[gdb.Inferior]:
    """The device processes, in the order in which they were started."""
    return [inferior for inferior in gdb.inferiors() if inferior.pid and is_device(inferior)]


def select(level: int) -> None:
    """Select a frame of the selected thread, without a word (the command says where it is)."""
    frame = gdb.newest_frame()
    while frame is not None and frame.level() < level:
        frame = frame.older()
    if frame is not None:
        frame.select()


def read(inferior: gdb.Inferior, address: int, size: int) -> bytes | None:
    """Memory of a process, None where it has none.  The process must be selected."""
    with Keep():
        inferior.threads()[0].switch()
        try:
            return bytes(inferior.read_memory(address, size))
        except gdb.MemoryError:
            return None


class Keep:
    """The selected thread and frame, for a while left for others."""

    def __enter__(self) -> None:
        self.inferior = gdb.selected_inferior()
        self.thread = gdb.selected_thread()
        self.level = gdb.selected_frame().level() if self.thread else 0

    def __exit__(self, *error: object) -> None:
        if self.thread is not None and self.thread.is_valid():
            self.thread.switch()
            select(self.level)
        elif self.inferior.is_valid():
            gdb.execute(f"inferior {self.inferior.num}", to_string=True)


class InC:
    """Expressions are C's for a while: else they are of the language that the frame has, or the one before it."""

    def __enter__(self) -> None:
        self.before = gdb.parameter("language")
        gdb.execute("set language c", to_string=True)

    def __exit__(self, *error: object) -> None:
        gdb.execute(f"set language {self.before}", to_string=True)


def to_program() -> None:
    """Select the frame of the program's own code that waits for the device, or was left last."""
    inferior = program()
    own = inferior.progspace.filename
    best = None
    for thread in inferior.threads():
        thread.switch()
        frame = gdb.newest_frame()
        while frame is not None:
            table = frame.find_sal().symtab
            if table is not None and table.objfile.filename == own:
                best = best or (thread, frame.level())
                break
            frame = frame.older()
    if best is None:
        inferior.threads()[0].switch()
        return
    best[0].switch()
    select(best[1])


def is_region(name: str) -> bool:
    """Whether a function is a region."""
    return any(part in name for part in REGIONS)


def region_at(address: int) -> str:
    """A region's name by what the host has for it: gcc the function, clang a variable."""
    try:
        block = gdb.block_for_pc(address)
    except RuntimeError:
        block = None
    if block is not None and block.function is not None:
        return str(block.function.name)
    text = gdb.execute(f"info symbol {address:#x}", to_string=True) or ""
    word = "" if text.startswith("No symbol") else text.partition(" in section")[0]
    return word.strip(". \n").removesuffix(".region_id")


class Device:
    """A device as libgompy has it; ``region``: the name of the one that was launched last."""

    def __init__(self, number: int, name: str, state: int, launches: int, region: int) -> None:
        self.number, self.name, self.state, self.launches = number, name, state, launches
        self.region = region_at(region) if region else ""
        self.busy = False


class Mapping:
    """A range of the host's memory and its copy on a device."""

    def __init__(self, device: int, start: int, end: int, address: int, count: int) -> None:
        self.device, self.start, self.end, self.address, self.count = device, start, end, address, count


class State:
    """What libgompy knows."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.mappings: list[Mapping] = []
        self.more = False
        for line in _described().splitlines():
            what, *words = line.split()
            if what == "device":
                state, launches, region = (int(word, 0) for word in words[2:])
                self.devices.append(Device(int(words[0]), words[1], state, launches, region))
            elif what == "map":
                self.mappings.append(Mapping(self.devices[-1].number, *(int(word, 0) for word in words)))
            elif what == "busy":
                self.devices[-1].busy = True
            else:
                self.more = True

    def process_of(self, mapping: Mapping, address: int) -> gdb.Inferior | None:
        """The process that has a device's memory at an address: MICs have theirs at different ones, a GPU's is the
        program's own."""
        where = devices()
        if any(device.number == mapping.device and device.name == GPU for device in self.devices):
            where = [program()]
        return next((inferior for inferior in where if read(inferior, address, 1) is not None), None)


GENERAL = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", *(f"r{number}" for number in range(8, 16)))
"""General registers that a function may change, beside the program counter, the stack pointer and the flags."""


def _described() -> str:
    """The text of gompy_describe_offload, to which the program runs while all else stands still.

    gdb's own call of a function does not serve: before gdb 15 there is none on a processor with AMX, and a breakpoint
    within ends it where it stands.
    """
    with Keep(), InC():
        program().threads()[0].switch()
        select(0)
        before = gdb.parameter("scheduler-locking")
        gdb.execute("set scheduler-locking on", to_string=True)
        try:
            return _run_to_trap()
        finally:
            gdb.execute(f"set scheduler-locking {before}", to_string=True)


STOPS = 8
"""How often a program may stop on the way to the trap."""


def _continue_to_trap() -> None:
    """Let the selected thread run until the trap that ends gompy_describe_and_trap.

    A breakpoint on its way, or one that a busy machine had not told yet, is passed.  A signal is not: to go on would
    deliver it.  Raises gdb.error with what gdb told of the last stop.
    """
    thread = gdb.selected_thread()
    for _ in range(STOPS):
        told = gdb.execute("continue", to_string=True) or ""
        thread.switch()
        if gdb.parse_and_eval("(unsigned long) $rip == (unsigned long) &gompy_described"):
            return
        if "signal" in told:
            break
    raise gdb.error(f"the program stopped elsewhere: {' '.join(told.split())}")


def _run_to_trap() -> str:
    """The selected thread runs gompy_describe_and_trap, and gets its registers back; the text.

    gdb can write single general registers everywhere; the others the function keeps (gompy/runtime/tools/debugger.h).
    """
    names = (*GENERAL, "eflags", "rsp", "rip", "orig_rax")  # the last: the system call that is to be begun again
    end = gdb.Breakpoint("*(unsigned long) &gompy_described", internal=True)
    end.silent = True  # a stop by the instruction itself would be told
    try:
        kept = {name: int(gdb.parse_and_eval(f"${name}")) for name in names}
        try:
            gdb.execute("set $orig_rax = -1")
            gdb.execute(f"set $rsp = {(kept['rsp'] - 1024) & -64}")  # below what the frame has under its pointer
            gdb.execute("set $rip = (unsigned long) &gompy_describe_and_trap")
            _continue_to_trap()
            text = gdb.parse_and_eval("(const char *) $rax").string("ascii", "replace")
        finally:
            for name, value in kept.items():
                gdb.execute(f"set ${name} = {value}")
    except gdb.error as error:
        raise gdb.GdbError(f"libgompy cannot be asked: {error}") from None
    finally:
        end.delete()
    return str(text)


def region_of(thread: gdb.InferiorThread) -> tuple[str, str]:
    """The region that a thread is in, and the place where it is there; empty if in none."""
    thread.switch()
    frame = gdb.newest_frame()
    while frame is not None:
        name = frame.name() or ""
        if is_region(name):
            sal = frame.find_sal()
            return name, f"{sal.symtab.filename.rpartition('/')[2]}:{sal.line}" if sal.symtab else ""
        frame = frame.older()
    return "", ""


def launching() -> bool:
    """Whether a thread of the program is in a call of a device's plugin."""
    with Keep():
        for thread in program().threads():
            thread.switch()
            frame = gdb.newest_frame()
            while frame is not None:
                if (frame.name() or "").startswith(LAUNCH):
                    return True
                frame = frame.older()
    return False


def named_by(symbol: gdb.Symbol, frame: gdb.Frame, address: int) -> str:
    """The name of a variable that is at an address, or points there; else empty."""
    try:
        value = symbol.value(frame)
        if value.address is not None and int(value.address) == address:
            return str(symbol.name)
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR and int(value) == address:
            return f"*{symbol.name}"
    except gdb.error:  # in optimized code it may have no value, or no address
        pass
    return ""


def symbol_at(address: int) -> str:
    """A variable at an address: of the selected frame, or what a pointer there points to; else a global one."""
    try:
        frame = gdb.selected_frame()
        block = frame.block()
    except (gdb.error, RuntimeError):
        block = None
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if symbol.is_variable or symbol.is_argument:
                name = named_by(symbol, frame, address)
                if name:
                    return name
        block = block.superblock
    text = gdb.execute(f"info symbol {address:#x}", to_string=True) or ""
    return "" if text.startswith("No symbol") else text.partition(" in section")[0].strip()


class InfoOffload(gdb.Command):
    """Devices, what is mapped to them, and the regions that they are in."""

    def __init__(self) -> None:
        super().__init__("info offload", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        """Print the lists."""
        state = State()
        with Keep():
            to_program()
            for device in state.devices:
                self.tell(state, device)
            if state.more:
                gdb.write("  and more\n")
            for inferior in gdb.inferiors():
                for thread in inferior.threads() if inferior.pid else ():
                    name, place = region_of(thread)
                    if name:
                        on = "the device" if is_device(inferior) else "the host"
                        gdb.write(f"region {name} at {place} on {on}, thread {inferior.num}.{thread.num}\n")

    def tell(self, state: State, device: Device) -> None:
        """A device, what is mapped to it, and the region that a GPU runs."""
        own = [mapping for mapping in state.mappings if mapping.device == device.number]
        process = state.process_of(own[0], own[0].address) if own else None
        if process is None and len(devices()) == 1 and device.state == 1 and device.name != GPU:
            process = devices()[0]
        where = f", inferior {process.num}, process {process.pid}" if process is not None else ""
        how = STATES.get(device.state, "?")
        gdb.write(f"device {device.number} ({device.name}): {how}{where}, regions launched: {device.launches}\n")
        if device.busy:
            gdb.write("  a thread is mapping: the list is not to be had now\n")
        for mapping in own:
            size, times = mapping.end - mapping.start, f"count {mapping.count}" if mapping.count else "image"
            shown = symbol_at(mapping.start)
            gdb.write(f"  {shown or 'host'} {mapping.start:#x}, {size} bytes -> {mapping.address:#x}, {times}\n")
        if device.name == GPU and device.region and launching():
            gdb.write(f"region {device.region} on the device\n")


def plain(kind: gdb.Type) -> gdb.Type:
    """An array's type with fixed bounds alone: gdb 13 ends where bytes are to be one of Fortran's with a descriptor."""
    levels = []
    while kind.code == gdb.TYPE_CODE_ARRAY:
        levels.append(kind.range())
        kind = kind.target()
    for low, high in reversed(levels):
        kind = kind.array(low, high)
    return kind


class OffloadPrefix(gdb.Command):
    """Commands for device regions: offload run, offload print, offload host."""

    def __init__(self) -> None:
        super().__init__("offload", gdb.COMMAND_DATA, prefix=True)


class OffloadPrint(gdb.Command):
    """offload print EXPRESSION: the device's copy of a variable of the host.

    The expression is evaluated in the frame of the program that waits for the device; it must stand for memory.
    """

    def __init__(self) -> None:
        super().__init__("offload print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, from_tty: bool) -> None:
        """Print the value, with the device's address."""
        if not argument.strip():
            raise gdb.GdbError("offload print: which expression of the host?")
        state = State()
        with Keep():
            to_program()
            try:
                value = gdb.parse_and_eval(argument)
            except gdb.error as error:
                raise gdb.GdbError(f"offload print: {error}") from None
            if value.address is None:
                raise gdb.GdbError(f"offload print: {argument} is no variable: it has no address")
            start, size, kind = int(value.address), value.type.sizeof, plain(value.type.strip_typedefs())
            if kind.sizeof != size:
                raise gdb.GdbError(f"offload print: {argument}: its elements are not side by side: print one at a time")
            found = [m for m in state.mappings if m.start <= start and start + size <= m.end]
            if not found:
                raise gdb.GdbError(f"offload print: {argument} (host {start:#x}, {size} bytes) is not mapped")
            for mapping in found:
                address = mapping.address + (start - mapping.start)
                process = state.process_of(mapping, address)
                head = f"device {mapping.device} {address:#x}: {argument} = "
                if process is None:
                    gdb.write(head + "<not in a process that gdb has>\n")
                    continue
                data = read(process, address, size) or b""
                gdb.write(head + gdb.Value(data, kind).format_string() + "\n")


def kernel_frame() -> gdb.Frame:
    """The frame of the emulated GPU's code that is selected, or else calls it; gdb.GdbError: there is none."""
    frame = gdb.selected_frame() if gdb.selected_thread() else None
    while frame is not None:
        try:
            block = frame.block()
        except RuntimeError:  # code without lines
            block = None
        if block is not None and any(symbol.name == "warp" for symbol in block):
            return frame
        frame = frame.older()
    raise gdb.GdbError("offload lanes: no kernel of the emulated GPU is here: is GOMPY_CUDA_DEBUG=1 set?")


def variable_of(frame: gdb.Frame, name: str) -> gdb.Value | None:
    """A variable of a frame; None: it has none of the name."""
    try:
        return frame.read_var(name)
    except ValueError:
        return None


class OffloadLanes(gdb.Command):
    """offload lanes [LANE]: the block, warp and lanes of the emulated GPU that the selected frame runs.

    LANE, 0 to 31: whose variables the frame has from now on."""

    def __init__(self) -> None:
        super().__init__("offload lanes", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        """Print them in a line."""
        frame = kernel_frame()
        if argument:
            self.select_lane(frame, argument)
        warp, active = frame.read_var("warp").dereference(), int(frame.read_var("active"))
        lanes = [lane for lane in range(32) if active >> lane & 1]
        ends = [self.three(warp["thread"], lane) for lane in (lanes[0], lanes[-1])] if lanes else []
        threads = (
            "no thread" if not ends else f"thread {ends[0]}" if len(lanes) == 1 else f"threads {' to '.join(ends)}"
        )
        place = self.three(warp["block"])
        mine, first = variable_of(frame, "gompy_lane"), variable_of(frame, "gompy_lanes")
        whose = f", variables of lane {int(mine - first)}" if mine is not None and first is not None else ""
        gdb.write(f"{frame.name()}: block {place}, warp {int(warp['number'])}, {threads}, lanes {active:#x}{whose}\n")

    @staticmethod
    def select_lane(frame: gdb.Frame, lane: str) -> None:
        """Have the frame's variables be those of another lane."""
        mine, first = variable_of(frame, "gompy_lane"), variable_of(frame, "gompy_lanes")
        if not lane.isdecimal() or int(lane) > 31:
            raise gdb.GdbError(f"offload lanes: {lane}: there are lanes 0 to 31")
        if mine is None or first is None:
            raise gdb.GdbError("offload lanes: no variables are known here: only clang's PTX has them, by -g -O0")
        words = int(first) + 8 * int(lane)
        gdb.selected_inferior().write_memory(int(mine.address), words.to_bytes(8, "little"))

    @staticmethod
    def three(value: gdb.Value, lane: int | None = None) -> str:
        """A place of three numbers, of one lane or all."""
        numbers = [int(value[axis] if lane is None else value[axis][lane]) for axis in range(3)]
        return f"({','.join(map(str, numbers))})"


class OffloadHost(gdb.Command):
    """offload host: select the frame of the program that waits for the device, or was left last."""

    def __init__(self) -> None:
        super().__init__("offload host", gdb.COMMAND_STACK)

    def invoke(self, argument: str, from_tty: bool) -> None:
        """Select it, and say where it is."""
        to_program()
        gdb.execute("frame")


def at_directive(frame: gdb.Frame) -> bool:
    """Whether a frame is still at the line that its function begins with, and the body has lines behind it."""
    block, place = frame.block(), frame.find_sal()
    while block.function is None:
        block = block.superblock
    if place.line != gdb.find_pc_line(block.start).line:
        return False
    own = (entry for entry in place.symtab.linetable() if block.start <= entry.pc < block.end)
    return any(entry.line > place.line for entry in own)


def into_region(name: str) -> None:
    """From a region's first instructions to its first line, where its variables are set up."""
    if REGIONS[1] not in name:
        if at_directive(gdb.newest_frame()):
            gdb.execute("next")
        return
    inner = f"{name}{DEBUG}"
    try:
        places = gdb.decode_line(f"'{inner}'")[1] or ()
    except gdb.error:
        places = ()
    if any(inner in (gdb.execute(f"info symbol {place.pc:#x}", to_string=True) or "") for place in places):
        gdb.execute(f"tbreak '{inner}'", to_string=True)  # otherwise it has been inlined: gdb is there
        gdb.execute("continue")


class OffloadRun(gdb.Command):
    """offload run [REGION...]: run the program, and stop in the first region that it comes to.

    Without names all regions are meant that the program has.  Breakpoints at the regions stay.  On a GPU it stops where
    the first is launched, in the program's frame.
    """

    def __init__(self) -> None:
        super().__init__("offload run", gdb.COMMAND_RUNNING)
        self.regions: list[str] = []
        self.launches = ""  # the function that launches a GPU's kernels, if the regions run on one

    def invoke(self, argument: str, from_tty: bool) -> None:
        """Set the breakpoints, run, go behind the region's prologue."""
        for name in gdb.string_to_argv(argument) or self.regions:
            gdb.execute(f"break '{name}'", to_string=True)
        if self.launches:
            gdb.execute(f"tbreak {self.launches}", to_string=True)
        gdb.execute("run")
        thread = gdb.selected_thread()
        frame = gdb.newest_frame() if thread is not None else None
        if frame is None:
            return
        if is_region(frame.name() or "") and frame.find_sal().symtab is not None:
            into_region(frame.name() or "")
        elif self.launches and frame.name() == self.launches:
            to_program()
            gdb.execute("frame")


class DevicesEnd(gdb.Breakpoint):
    """Where the program is about to end a device: gdb lets the device go, for its end would stop the program, too."""

    def __init__(self) -> None:
        super().__init__("GOMP_OFFLOAD_fini_device", internal=True)
        self.silent = True
        self.commands = "python let_go()\ncontinue"


def plugin_loaded(event: gdb.NewObjFileEvent) -> None:
    """The emulated MIC's plugin is there: its function that ends a device can be found."""
    if (event.new_objfile.filename or "").rpartition("/")[2].startswith("libgomp-plugin-intelmic.so"):
        gdb.events.new_objfile.disconnect(plugin_loaded)
        DevicesEnd()


def let_go() -> None:
    """Detach the device processes."""
    for inferior in devices():
        gdb.execute(f"detach inferiors {inferior.num}", to_string=True)


set_up()
InfoOffload()
OffloadPrefix()
OffloadPrint()
OffloadLanes()
OffloadHost()
RUN = OffloadRun()
gdb.events.new_objfile.connect(plugin_loaded)
