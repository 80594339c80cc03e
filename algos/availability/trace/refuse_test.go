package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// npyFile returns an .npy file of version 1.
func npyFile(dict, data string) string {
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(dict)))) + dict + data
}

func npyDict(descr, order, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
}

// Each of these files is wrong in one way, and its error says where and how.
func TestRefuses(t *testing.T) {
	const (
		header, number = "client,start,end\n", ", want a number from 0 to below 2147483648 rounds"
		activity       = "round,client,active,probability,pi,lambda\n"
		messages       = `2020-01-02 00:00:00\tscreen_lock\n`
	)
	seconds := Options{Clients: 3, RoundSeconds: 60}
	rounds := Options{Clients: 3}
	form := func(f Format) Options { return Options{Format: f, Clients: 3} }
	var shape bytes.Buffer
	shape.WriteString(npyFile(npyDict("|u1", "False", "(1000000, 1000000)"), "\x00\x01"))
	nan := string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())))
	fedscale := func(of string) string { return "(dI5\n" + of + "s." }
	device := func(active, inactive, finish string) string {
		return fedscale("(dS'active'\n(l" + active + "sS'inactive'\n(l" + inactive + "sS'finish_time'\n" + finish + "s")
	}
	flash := func(messages string) string { return `{"a": {"messages": "` + messages + `"}}` }
	for _, c := range []struct {
		name, file string
		o          Options
		want       string
	}{
		// Files of another kind.
		{
			"empty", "", rounds,
			"empty, want the columns client,start,end or round,client,active, a matrix, or a trace of FedScale " +
				"or FLASH",
		},
		{"empty intervals", "", form(Intervals), "empty, want the columns client,start,end"},
		{"gzip", "\x1f\x8b\x08\x00", rounds, "compressed with gzip, want it unpacked (gunzip)"},
		{"zip", "PK\x03\x04..", rounds, "a zip archive, as .zip, .npz and .xlsx are, want one file of it"},
		{"page", "\n<!DOCTYPE html>", rounds, "a page of HTML or XML, want a trace: was the download refused?"},
		{
			"pointer", "version https://git-lfs.github.com/spec/v1\n", seconds,
			"a pointer of Git LFS, want the file itself (git lfs pull)",
		},
		{"UTF-16", "\xff\xfec\x00", rounds, "line 1: UTF-16, want UTF-8"},
		{"UTF-16 without a mark", "c\x00l\x00", rounds, "line 1: a zero byte, as in UTF-16, want UTF-8"},
		{
			"format", header, form("csv"),
			`format "csv", want intervals, activity, matrix, matrix-rounds, fedscale or flash`,
		},
		{
			"header", "id,start,end\n", rounds,
			`line 1: columns ["id" "start" "end"], want the columns client,start,end or ` +
				"round,client,active, a matrix, or a trace of FedScale or FLASH",
		},
		{
			"header of intervals", "0,1,2\n", form(Intervals),
			`line 1: columns ["0" "1" "2"], want the columns ` + "client,start,end",
		},
		{
			"header of activity", header, form(Activity),
			`line 1: columns ["client" "start" "end"], want the columns ` + "round,client,active",
		},
		{"semicolons", "client;start;end\n", rounds, "line 1: columns separated by semicolons, want commas"},
		{"tabs", "0\t1\t1\n", form(Matrix), "line 1: columns separated by tabs, want commas"},
		{"CR alone", "client,start,end\r0,1,2\r", rounds, "line 1: lines end with CR alone, want LF"},
		{"round length", header, Options{RoundSeconds: -1}, "rounds -1 long, want above 0"},
		{"offset", header, Options{Offset: math.NaN()}, "offset NaN, want 0 or more"},

		// Intervals.
		{"columns", header + "0,1\n", rounds, "record on line 2: wrong number of fields"},
		{"no rows", header, rounds, "0 intervals, none holds a round, want at least one that does"},
		{
			"between rounds", header + "0,61,70\n", seconds,
			"1 interval, none holds a round, want at least one that does",
		},
		{
			"before the offset", header + "0,1,2\n",
			Options{Offset: 5},
			"1 interval, none holds a round from time 5 on, want at least one that does",
		},
		{"no id", header + "\"\",1,2\n", rounds, `line 2: client "": want a name of 1 to 256 bytes`},
		{
			"long id", header + strings.Repeat("x", 257) + ",1,2\n", rounds,
			`line 2: client "` + strings.Repeat("x", 80) + `": want a name of 1 to 256 bytes`,
		},
		{"empty cell", header + "1,,2\n", rounds, `line 2: client 1: time ""` + number},
		{"underscore", header + "1,1_0,20\n", rounds, `line 2: client 1: time "1_0"` + number},
		{"negative", header + "a,-1,2\n", rounds, `line 2: client "a": time "-1"` + number},
		{"NaN", header + "1,1,NaN\n", rounds, `line 2: client 1: time "NaN"` + number},
		{"infinite", header + "1,1,inf\n", rounds, `line 2: client 1: time "inf"` + number},
		{"far", header + "1,1,1e300\n", rounds, `line 2: client 1: time "1e300"` + number},
		{
			"long cell", header + "1,1," + strings.Repeat("y", 90) + "\n", rounds,
			`line 2: client 1: time "` + strings.Repeat("y", 80) + `"` + number,
		},
		{
			"reversed", header + "0,1,2\n1,5,3\n", rounds,
			"line 3: client 1: interval from 5 to 3, want an end after the start",
		},
		{
			"nothing", header + "1,5,5\n", rounds,
			"line 2: client 1: interval from 5 to 5, want an end after the start",
		},
		{
			"overlap", header + "1,4,9\n0,0,9\n1,0,5\n", rounds,
			"line 2: client 1: interval from 4 to 9 overlaps that of line 4, from 0 to 5, want them apart",
		},
		{
			"twice", header + "1,4,9\n01,4,9\n", rounds,
			"line 3: client 01: interval from 4 to 9 overlaps that of line 2, from 4 to 9, want them apart",
		},
		{
			"more", header + "a,1,2\nb,1,2\nc,1,2\nd,1,2\n", rounds,
			"4 devices, want the 3 clients of the run (--trace-sample 3 samples them, --clients 4 takes all)",
		},
		{
			"fewer", header + "a,1,2\nb,1,2\n", rounds,
			"2 devices, want the 3 clients of the run (--clients 2, or --trace-sample of at most as many)",
		},
		{
			"sample", header + "0,1,2\n1,1,2\n",
			Options{Clients: 3, Sampled: true},
			"2 devices, want at least the 3 to be sampled (--trace-sample, --clients)",
		},
		{
			"Unix in rounds", header + "0,1700000000,1700000060\n", rounds,
			"line 2: client 0: time 1700000000 is a Unix time in s, of 2023-11-14: want the length of a round " +
				"(--round-seconds)",
		},
		{
			"Unix and others", header + "0,0,60\n1,1700000000,1700000060\n", seconds,
			"line 3: client 1: time 1700000000 is a Unix time in s, of 2023-11-14, but earlier times are none " +
				"that count from 1970, want all in one unit",
		},
		{
			"others and Unix", header + "0,1700000000,60\n", seconds,
			"line 2: client 0: time 60, but earlier times are Unix times in s, want all in one unit",
		},
		{
			"two units", header + "0,1700000000,1700000060000\n", seconds,
			"line 2: client 0: time 1700000060000 is a Unix time in ms, of 2023-11-14, but earlier times are " +
				"Unix times in s, want all in one unit",
		},

		// Activity.
		{"column twice", "round,client,active,round\n", rounds, "line 1: column round twice, want it once"},
		{"no activity", "round,client,active\n", rounds, "no rows, want at least one"},
		{
			"round", activity + "-1,0,1,1,1,0\n", rounds,
			`line 2: round "-1", want a whole number from 0 to below 2147483648`,
		},
		{"active", activity + "0,0,yes,1,1,0\n", rounds, `line 2: client 0: active "yes", want 0 or 1`},
		{
			"probability", activity + "0,0,1,1.5,1,0\n", rounds,
			`line 2: client 0: probability "1.5", want a number from 0 ` + "to 1",
		},
		{
			"impossible", activity + "0,0,1,0,1,0\n", rounds,
			"line 2: client 0: active with probability 0, want a probability above 0",
		},
		{
			"pi", activity + "0,0,1,1,0.5,0\n1,0,1,1,0.6,0\n", rounds,
			"line 3: client 0: pi 0.6, but 0.5 in line 2, want one value for all rounds",
		},
		{
			"lambda", activity + "0,0,1,1,0.5,-2\n", rounds,
			`line 2: client 0: lambda "-2", want a number from -1 to 1`,
		},
		{
			"round twice", activity + "0,0,1,1,1,0\n1,0,1,1,1,0\n0,0,0,1,1,0\n", rounds,
			"line 4: client 0: round 0 twice, in line 2 before, want it once",
		},
		{"activity in seconds", activity, seconds, "format activity counts rounds, want no --round-seconds"},
		{
			"activity offset", activity + "0,0,1,1,1,0\n",
			Options{Clients: 3, Offset: 1},
			"offset 1, want fewer than the 1 rounds of the file",
		},
		{
			"part of a round", activity,
			Options{Offset: 0.5},
			"offset 0.5, want a whole number of rounds below 2147483648",
		},

		// Matrices.
		{"cell", "0,1\n1,2\n", rounds, `line 2: column 2: "2", want 0, 1 or a probability between them`},
		{"cell NaN", "0,NaN\n", rounds, `line 1: column 2: "NaN", want 0, 1 or a probability between them`},
		{"ragged", "0,1\n1\n", rounds, "line 2: 1 column, want 2 as in the first row"},
		{
			"transposed", "0,0,1\n1,0,1\n", rounds,
			"2 rows × 3 columns, want 3 clients: its columns are clients with --trace-format matrix-rounds",
		},
		{
			"transposed rounds", "0,0\n1,0\n0,1\n", form(MatrixRounds),
			"3 rows × 2 columns, want 3 clients: its rows are clients with --trace-format matrix",
		},
		{
			"shape", "0,0\n1,0\n", rounds,
			"2 devices, want the 3 clients of the run (--clients 2, or --trace-sample of at most as many)",
		},
		{"header of rounds", "client,0,2\n", rounds, `line 1: column 3: round "2", want 1`},
		{"rounds in order", "round,a,b,c\n1,0,0,1\n", rounds, `line 2: round "1", want 0`},
		{"header twice", "round,a,a\n", rounds, `line 1: device "a": twice, want each once`},
		{"row twice", "client,0\na,1\na,0\n", rounds, `line 3: device "a": twice, want each once`},
		{"header alone", "client,0,1\n", Options{}, "0 clients × 2 rounds, want at least 1 × 1"},
		{"matrix in seconds", "0,1\n", seconds, "format matrix counts rounds, want no --round-seconds"},
		{
			"npy magic", "\x93NUMPX\x01\x00", form(Matrix),
			`line 1: column 1: "\x93NUMPX\x01\x00", want 0, 1 or a ` + "probability between them",
		},
		{"npy version", "\x93NUMPY\x04\x00", rounds, "npy: byte 6: version 4, want 1 to 3"},
		{"npy cut", "\x93NUMPY\x01\x00\x76", rounds, "npy: byte 9: the file ends, want 1 byte more"},
		{
			"npy header", npyFile("{'descr': '<f8'}", ""), rounds,
			`npy: byte 10: header "{'descr': '<f8'}", want descr, ` + "fortran_order and shape, each once",
		},
		{
			"npy header long", "\x93NUMPY\x02\x00\xff\xff\xff\xff", rounds,
			"npy: byte 8: header of 4294967295 bytes, want at most 65536",
		},
		{
			"npy type", npyFile(npyDict("|O", "False", "(2, 2)"), ""), rounds,
			`npy: byte 10: type "|O", want bool, u1 to ` + "u8, i1 to i8 or f2 to f8",
		},
		{
			"npy dimensions", npyFile(npyDict("|u1", "False", "(2,)"), "\x00\x01"), rounds,
			"npy: 1 dimension, want 2: clients × rounds",
		},
		{
			"npy huge", npyFile(npyDict("|u1", "False", "(99999999999, 99999999999)"), ""), rounds,
			"npy: byte 10: shape (99999999999, 99999999999), want whole numbers, and at most 2^40 elements",
		},
		{"npy short", shape.String(), rounds, "npy: byte 84: the file ends, want 4094 bytes more"},
		{
			"npy NaN", npyFile(npyDict("<f8", "True", "(1, 2)"), "\x00\x00\x00\x00\x00\x00\x00\x00"+nan), rounds,
			"npy: element [0, 1]: NaN, want 0, 1 or a probability between them",
		},
		{
			"npy element", npyFile(npyDict("|i1", "True", "(2, 2)"), "\x00\x01\x00\xff"), rounds,
			"npy: element [1, 1]: -1, want 0, 1 or a probability between them",
		},
		{
			"npy long", npyFile(npyDict("|u1", "True", "(1, 1)"), "\x00\x01"), rounds,
			"npy: byte 70: more after the last of 1 element, want the end",
		},

		// Pickles.
		{
			"pickle in rounds", "\x80\x02}.", rounds,
			"FedScale's trace is in seconds, want the length of a round (--round-seconds)",
		},
		{
			"no pickle", header,
			Options{Format: FedScale, RoundSeconds: 60},
			"pickle: byte 0: opcode 0x63 (GLOBAL): want dicts, lists, numbers and texts alone (nothing of a " +
				"pickle is executed)",
		},
		{"short rounds", "\x80\x02}.", Options{RoundSeconds: 1e-9}, "rounds of 1e-09 s, want 1e-06 to 1e+12"},
		{"no devices", "\x80\x02}.", seconds, "no device, want at least one"},
		{"pickle cut", "\x80\x02}q\x00(K\x01}", seconds, "pickle: byte 9: the file ends, want more: cut off?"},
		{"pickle of a list", "\x80\x02].", seconds, "pickle: a list, want a dict of devices"},
		{"protocol", "\x80\x09.", seconds, "pickle: byte 0: opcode 0x80: protocol 9, want 0 to 5"},
		{
			"GLOBAL", "\x80\x02cos\nsystem\n(S'ls'\ntR.", seconds,
			"pickle: byte 2: opcode 0x63 (GLOBAL): want dicts, lists, numbers and texts alone (nothing of a " +
				"pickle is executed)",
		},
		{
			"REDUCE", "\x80\x02}R.", seconds,
			"pickle: byte 3: opcode 0x52 (REDUCE): want dicts, lists, numbers and texts alone (nothing of a " +
				"pickle is executed)",
		},
		{
			"no opcode", "\x80\x02}\xff.", seconds,
			"pickle: byte 3: opcode 0xff: want dicts, lists, numbers and texts alone (nothing of a pickle is " +
				"executed)",
		},
		{"memo", "\x80\x02h\x05.", seconds, "pickle: byte 2: opcode 0x68: memo has no entry 5"},
		{
			"memo of nothing", "\x80\x02q\x05.", seconds,
			"pickle: byte 2: opcode 0x71: the stack lacks what it takes: damaged, or no pickle",
		},
		{
			"long text", "\x80\x02X\xff\xff\xff\xff.", seconds,
			"pickle: byte 2: opcode 0x58: a text of 4294967295 bytes, want at most 65536",
		},
		{
			"long integer", "\x80\x02\x8b\xff\xff\xff\x7f.", seconds,
			"pickle: byte 2: opcode 0x8b: an integer of 2147483647 bytes, want at most 8",
		},
		{"stack", "\x80\x02}}.", seconds, "pickle: byte 4: STOP with 2 values, want 1"},
		{
			"holds itself", "\x80\x02}q\x00K\x01h\x00s.", seconds,
			"device 1: no active, want active, inactive and finish_time",
		},
		{"device", fedscale("I7\n"), seconds, "device 5: an int, want a dict"},
		{
			"device twice", "(dI5\n(dS'active'\n(lsS'inactive'\n(lsS'finish_time'\nI9\nssS'5'\n(ds.", seconds,
			"device 5: twice, want each once",
		},
		{"key", "\x80\x02}N}s.", seconds, "device 0: its key is None, want a text or an int"},
		{"no list", fedscale("(dS'active'\nI1\ns"), seconds, "device 5: active: an int, want a list of seconds"},
		{
			"no finish", fedscale("(dS'active'\n(lsS'inactive'\n(ls"), seconds,
			"device 5: no finish_time, want active, inactive and finish_time",
		},
		{"finish 0", device("", "", "I0\n"), seconds, "device 5: finish_time: 0, want seconds above 0"},
		{"finish text", device("", "", "S'9'\n"), seconds, "device 5: finish_time: a text, want a number"},
		{"finish infinite", device("", "", "Finf\n"), seconds, "device 5: finish_time: +Inf, want seconds above 0"},
		{"lists", device("I1\na", "", "I9\n"), seconds, "device 5: 1 active and 0 inactive, want as many"},
		{
			"time", device("I1\naN", "I2\naN", "I9\n"), seconds,
			"pickle: byte 24: opcode 0x73: the stack lacks what it takes: damaged, or no pickle",
		},
		{"time None", device("Na", "I2\na", "I9\n"), seconds, "device 5: active[0]: None, want a number"},
		{
			"time negative", device("I1\na", "I-2\na", "I9\n"), seconds,
			"device 5: inactive[0]: -2, want seconds from 0",
		},
		{"time NaN", device("Fnan\na", "I2\na", "I9\n"), seconds, "device 5: active[0]: NaN, want seconds from 0"},

		// JSON.
		{
			"flash in rounds", "{}", rounds,
			"FLASH's trace is in seconds, want the length of a round (--round-seconds)",
		},
		{"flash empty", "", Options{Format: Flash, RoundSeconds: 60}, "empty, want an object of devices"},
		{"flash UTF-16", "\xff\xfe{\x00", Options{Format: Flash, RoundSeconds: 60}, "UTF-16, want UTF-8"},
		{"list", "[]", Options{Format: Flash, RoundSeconds: 60}, `byte 0: JSON of "[", want an object of devices`},
		{"no JSON devices", "{}", seconds, "no device, want at least one"},
		{"JSON cut", `{"a": {"mess`, seconds, "byte 5: the file ends, want more: cut off?"},
		{"no JSON", `{"a": nothing}`, seconds, "byte 5: invalid character 'o' in literal null (expecting 'u')"},
		{
			"no object", `{"a": 5}`, seconds,
			`device "a" (0): its value: a JSON number, want an object with the text ` + "messages",
		},
		{
			"messages", `{"a": {"messages": []}}`, seconds,
			`device "a" (0): messages: a JSON array, want an object with ` + "the text messages",
		},
		{"no messages", `{"7": {}}`, seconds, "device 7 (0): no messages, want an object with the text messages"},
		{"same device", `{"a": {"messages": ""}, "a": {}}`, seconds, `device "a": twice, want each once`},
		{
			"never ready", flash(messages), seconds,
			`none of 1 device can be used: device "a" (0): never ready from one ` + "message to a later one",
		},
		{
			"message", flash("screen_lock"), seconds,
			`none of 1 device can be used: device "a" (0): message 1: "screen_lock", want a time, a tab and a state`,
		},
		{
			"message time", flash(messages + `1578000000\twifi`), seconds,
			`none of 1 device can be used: device "a" (0): message 2: time "1578000000", want one like ` +
				`2020-01-02 03:04:05`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := "availability: trace: " + c.want
			if _, err := Read(strings.NewReader(c.file), c.o); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
