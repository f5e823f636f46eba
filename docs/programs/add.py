from array import array

from gompy.ptx.device import Device

data = array("i", range(512)).tobytes()
with open("add.ptx") as file, Device() as device:
    kernel = device.load(file.read()).function("add")
    a = device.upload(data)
    kernel.launch(grid=(4, 1, 1), block=(128, 1, 1), arguments=[a, 100])
    print(array("i", device.download(a, len(data)))[-3:])
