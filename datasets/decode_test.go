package datasets

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"image/color"
	"image/png"
	"testing"

	"rollcall/internal/must"
)

type pngForm struct {
	side, depth, kind, palette int
	transparent                []byte
	interlaced                 bool
	limit                      int // bytes of pixel data lie below it; 0: 256
}

// file makes the file. Its pixel data are numbers by a formula, with every filter in turn, so that any other reader
// can be shown the same.
func (p pngForm) file() []byte {
	chunk := func(kind string, data []byte) []byte {
		b := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), kind...)
		b = append(b, data...)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
	}
	passes := [][2]int{{p.side, p.side}}
	interlaced := byte(0)
	if p.interlaced { // Adam7, of 32 × 32
		passes, interlaced = [][2]int{{4, 4}, {4, 4}, {8, 4}, {8, 8}, {16, 8}, {16, 16}, {32, 16}}, 1
	}
	channels := map[int]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[p.kind]
	limit := p.limit
	if limit == 0 {
		limit = 256
	}
	var raw []byte
	k := 0
	for _, pass := range passes {
		for y := range pass[1] {
			raw = append(raw, byte(y%5))
			for range (pass[0]*p.depth*channels + 7) / 8 {
				raw = append(raw, byte((k*37+k/7+11)%limit))
				k++
			}
		}
	}
	var data bytes.Buffer
	z := zlib.NewWriter(&data)
	z.Write(raw)
	z.Close()

	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(p.side)), uint32(p.side))
	header = append(header, byte(p.depth), byte(p.kind), 0, 0, interlaced)
	b := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", header)...)
	if p.palette > 0 {
		colours := make([]byte, 3*p.palette)
		for i := range colours {
			colours[i] = byte(i*i*5 + i/3 + 7)
		}
		b = append(b, chunk("PLTE", colours)...)
	}
	if p.transparent != nil {
		b = append(b, chunk("tRNS", p.transparent)...)
	}
	return append(append(b, chunk("IDAT", data.Bytes())...), chunk("IEND", nil)...)
}

// Every kind of PNG file that is taken becomes what PIL makes of it. The checksums (their first 16 digits) are
// from PIL 9.4: PIL.Image.open(file).convert("RGB") as bytes [32,32,3], of files of the same pixel data.
func TestDecodePicture(t *testing.T) {
	alphas := make([]byte, 50)
	for i := range alphas {
		alphas[i] = byte(5 * i)
	}
	for _, c := range []struct {
		name string
		form pngForm
		want string
	}{
		{"grey 1", pngForm{depth: 1}, "fb5256f13e7db21f"},
		{"grey 2", pngForm{depth: 2}, "32f49448580b15e1"},
		{"grey 4", pngForm{depth: 4}, "e4443a83c42907b4"},
		{"grey 8", pngForm{depth: 8}, "2769a7bb872aa6fb"},
		{"grey 8 with a transparent one", pngForm{depth: 8, transparent: []byte{0, 11}}, "2769a7bb872aa6fb"},
		{"grey 8 interlaced", pngForm{depth: 8, interlaced: true}, "16fa9d12b272eb93"},
		{"RGB", pngForm{depth: 8, kind: 2}, "71a840e348ef8463"},
		{
			"RGB with a transparent one",
			pngForm{depth: 8, kind: 2, transparent: []byte{0, 11, 0, 48, 0, 85}},
			"71a840e348ef8463",
		},
		{"RGB interlaced", pngForm{depth: 8, kind: 2, interlaced: true}, "fee89127208d1af5"},
		{"palette 1", pngForm{depth: 1, kind: 3, palette: 2}, "d167b203cd9be11e"},
		{"palette 2", pngForm{depth: 2, kind: 3, palette: 4}, "2ed56c09b67926c9"},
		{"palette 4", pngForm{depth: 4, kind: 3, palette: 16}, "4b08f375b298800a"},
		{"palette 8", pngForm{depth: 8, kind: 3, palette: 256}, "f1fc0f6526195540"},
		{
			"palette 8 with transparent ones",
			pngForm{depth: 8, kind: 3, palette: 256, transparent: alphas},
			"f1fc0f6526195540",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.form.side = 32
			out := make([]uint8, photoPixels)
			must.OK(t, decodePicture(c.form.file(), out))
			sum := sha256.Sum256(out)
			if got := hex.EncodeToString(sum[:8]); got != c.want {
				t.Errorf("SHA-256 %s…, want %s…", got, c.want)
			}
		})
	}
}

func TestDecodePictureErrors(t *testing.T) {
	good := pngForm{side: 32, depth: 8, kind: 2}.file()
	damaged := bytes.Clone(good)
	damaged[60] ^= 1
	huge := bytes.Clone(good)
	binary.BigEndian.PutUint32(huge[16:], 1<<31-1)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "no PNG: starts with "},
		{"JPEG", append([]byte{0xff, 0xd8, 0xff, 0xe0}, good...), "no PNG: starts with ffd8ffe0"},
		{"larger", pngForm{side: 33, depth: 8, kind: 2}.file(), "33×33 pixels, want 32×32"},
		{"smaller", pngForm{side: 31, depth: 1}.file(), "31×31 pixels, want 32×32"},
		{"huge", huge, "2147483647×32 pixels, want 32×32"},
		{"16 bits", pngForm{side: 32, depth: 16, kind: 2}.file(), "16 bits a channel, want at most 8"},
		{
			"RGB and alpha", pngForm{side: 32, depth: 8, kind: 6}.file(),
			"colour type 6 (RGB and alpha), want 0 (grey), 2 (RGB) or 3 (palette)",
		},
		{"grey and alpha", pngForm{side: 32, depth: 8, kind: 4}.file(), "colour type 4 (grey and alpha), want"},
		{"unknown colour type", pngForm{side: 32, depth: 8, kind: 5}.file(), "colour type 5, want"},
		{"no palette", pngForm{side: 32, depth: 8, kind: 3}.file(), "png: "},
		{
			"palette too short", pngForm{side: 32, depth: 8, kind: 3, palette: 100}.file(),
			"pixel 3: colour 122 of a palette of 100",
		},
		{"damaged", damaged, "png: invalid format: "},
		{"cut", good[:200], "png: invalid format: not enough pixel data"},
		{"cut in the header", good[:24], "no PNG: starts with 89504e47"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, decodePicture(c.data, make([]uint8, photoPixels)), nil, c.want)
		})
	}
}

// sameAsSlow checks a decoded picture against the library's own pixels, one by one.
func sameAsSlow(t *testing.T, data, got []uint8) {
	t.Helper()
	p, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("accepted, yet %v", err)
	}
	for i := range photoSide * photoSide {
		c, ok := p.At(i%photoSide, i/photoSide).(color.NRGBA)
		if !ok {
			c = color.NRGBAModel.Convert(p.At(i%photoSide, i/photoSide)).(color.NRGBA)
		}
		if want := [3]uint8{c.R, c.G, c.B}; [3]uint8(got[3*i:3*i+3]) != want {
			t.Fatalf("pixel %d: %v, want %v", i, got[3*i:3*i+3], want)
		}
	}
}
