package emulator

import (
	"strings"
	"testing"
)

// Several devices have contexts, memory and streams of their own.
func TestDevices(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			out, ok := drive(t, kind.asan, "devices", "ROLLCALL_EMULATOR_DEVICES=2",
				"ROLLCALL_EMULATOR_MEMORY=1048576")
			if !ok {
				t.Fatal(out)
			}
		})
	}
}

// CUDA_VISIBLE_DEVICES chooses devices and their order, by index or by the beginning of a UUID. A driver with MIG shows
// a process one instance.
func TestVisibleDevices(t *testing.T) {
	const none = "100 no CUDA-capable device is detected"
	for _, c := range []struct {
		name, env string // variables by blanks, without the prefix ROLLCALL_EMULATOR_ but for CUDA_VISIBLE_DEVICES
		want      string // the devices as drive lists them, or a part of the error
	}{
		{"all", "DEVICES=3", "00000000-0000 9.0\n00000001-0000 9.0\n00000002-0000 9.0\n"},
		{"one capability", "DEVICES=2 CAPABILITY=8.6", "00000000-0000 8.6\n00000001-0000 8.6\n"},
		{
			"capabilities", "DEVICES=3 CAPABILITY=9.0,8.0",
			"00000000-0000 9.0\n00000001-0000 8.0\n00000002-0000 8.0\n",
		},
		{
			"order, capabilities of the physical ones",
			"DEVICES=3 CAPABILITY=9.0,8.0,8.6 CUDA_VISIBLE_DEVICES=2,0", "00000002-0000 8.6\n00000000-0000 9.0\n",
		},
		{
			"an invalid index ends the list", "DEVICES=3 CUDA_VISIBLE_DEVICES=0,2,-1,1",
			"00000000-0000 9.0\n00000002-0000 9.0\n",
		},
		{"one beyond the last", "DEVICES=2 CUDA_VISIBLE_DEVICES=1,2,0", "00000001-0000 9.0\n"},
		{"a device twice", "DEVICES=2 CUDA_VISIBLE_DEVICES=1,1,0", "00000001-0000 9.0\n"},
		{"empty", "CUDA_VISIBLE_DEVICES=", none},
		{"the first is invalid", "DEVICES=2 CUDA_VISIBLE_DEVICES=-1,0", none},
		{"no device of that name", "DEVICES=2 CUDA_VISIBLE_DEVICES=cpu", none},
		{
			"UUIDs", "DEVICES=3 CUDA_VISIBLE_DEVICES=GPU-00000002,GPU-00000000-0000-726f-6c6c-63616c6c2065",
			"00000002-0000 9.0\n00000000-0000 9.0\n",
		},
		{"a prefix of several UUIDs", "DEVICES=3 CUDA_VISIBLE_DEVICES=1,GPU-0000000,0", "00000001-0000 9.0\n"},
		{"a UUID of none", "DEVICES=2 CUDA_VISIBLE_DEVICES=1,GPU-00000007,0", "00000001-0000 9.0\n"},
		{"MIG: the first", "DEVICES=2 MIG=3", "00000000-0001 9.0\n"},
		{
			"MIG: the first named", "DEVICES=2 MIG=2 CUDA_VISIBLE_DEVICES=MIG-00000001-0002,MIG-00000000-0001",
			"00000001-0002 9.0\n",
		},
		{"MIG: by index", "DEVICES=2 MIG=2 CUDA_VISIBLE_DEVICES=1,0", "00000001-0001 9.0\n"},
		{"MIG: by the UUID of the card", "DEVICES=2 MIG=2 CUDA_VISIBLE_DEVICES=GPU-00000001", "00000001-0001 9.0\n"},
		{"MIG: no such instance", "DEVICES=2 MIG=2 CUDA_VISIBLE_DEVICES=MIG-00000001-0003", none},
	} {
		t.Run(c.name, func(t *testing.T) {
			var env []string
			for variable := range strings.FieldsSeq(c.env) {
				if !strings.HasPrefix(variable, "CUDA_") {
					variable = "ROLLCALL_EMULATOR_" + variable
				}
				env = append(env, variable)
			}
			out, ok := drive(t, false, "list", env...)
			right := ok && out == c.want
			if c.want == none {
				right = !ok && strings.Contains(out, none)
			}
			if !right {
				t.Errorf("success %v, devices\n%s\nwant\n%s", ok, out, c.want)
			}
		})
	}
}
