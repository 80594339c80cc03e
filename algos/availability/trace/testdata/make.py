"""Writes the pickles and, where NumPy is installed, the .npy files of this folder's tests: python3 make.py FOLDER"""

import os
import pickle
import sys

folder = sys.argv[1]
model = "CPH1801"
devices = {
    "1": {"duration": 211625, "inactive": [65881, 133574, 208292], "finish_time": 518400,
          "active": [12788, 100044, 188992], "model": model},
    2: {"duration": 100.5, "inactive": [60.5, 255], "finish_time": 256.0, "active": [0, 254.25], "model": model},
    "Gerät \\ 'drei' €": {"duration": 0, "inactive": [], "finish_time": 2**39, "active": [], "model": None},
    70000: {"duration": -1, "inactive": [2**33, 2**39], "finish_time": 2**39, "active": [1, 2**35], "model": True},
}
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    with open(os.path.join(folder, f"fedscale-{protocol}.pickle"), "wb") as f:
        pickle.dump(devices, f, protocol=protocol)

try:
    import numpy as np
except ImportError:
    sys.exit()
active = np.array([[0, 1, 1], [1, 0, 0]])
for dtype in ["?", "u1", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]:
    name = dtype.replace("<", "little-").replace(">", "big-").replace("?", "bool")
    np.save(os.path.join(folder, f"active-{name}.npy"), active.astype(dtype))
np.save(os.path.join(folder, "active-fortran.npy"), np.asfortranarray(active.astype(bool)))
for version in [(2, 0), (3, 0)]:
    with open(os.path.join(folder, f"active-version{version[0]}.npy"), "wb") as f:
        np.lib.format.write_array(f, active.astype("u1"), version=version)
chance = np.array([[0, 0.25, 1], [0.5, 2.0**-20, 0.75]])
for dtype in ["<f2", ">f4", "<f8"]:
    name = dtype.replace("<", "little-").replace(">", "big-")
    np.save(os.path.join(folder, f"chance-{name}.npy"), np.asfortranarray(chance.astype(dtype)))
