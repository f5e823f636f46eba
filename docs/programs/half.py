from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, CHECK_SYNC, Device

with open("half.ptx") as file, Device(check=CHECK_MEMORY | CHECK_INIT | CHECK_SYNC) as device:
    device.load(file.read(), names=["half.ptx"]).function("half").launch((1, 1, 1), (64, 1, 1))
    print(*device.warnings, sep="\n")
