package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf8"
)

// lookAt is how many bytes of a file say what it is: HDF5 may begin at byte 512, and tar's mark is at byte 257.
const lookAt = 520

// ErrOther is wrapped by the errors of files that are of another format.
var ErrOther = errors.New("want safetensors")

// marks begin the files that people have in place of safetensors.
var marks = []struct{ mark, kind string }{
	{"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", "a pickle, as .pt and .pth files of old PyTorch are"},
	{"\x80\x02", "a pickle"},
	{"\x80\x03", "a pickle"},
	{"\x80\x04", "a pickle"},
	{"\x80\x05", "a pickle"},
	{"(dp", "a pickle"},
	{"PK\x05\x06", "an empty zip file"},
	{"\x89HDF\r\n\x1a\n", "HDF5, as .h5 files of Keras are"},
	{"\x93NUMPY", "an .npy file of NumPy"},
	{"GGUF", "GGUF"},
	{"MATLAB 5.0 MAT-file", "a MAT file of MATLAB"},
	{"\x1f\x8b", "compressed by gzip"},
	{"\x28\xb5\x2f\xfd", "compressed by zstd"},
	{"\xfd7zXZ\x00", "compressed by xz"},
	{"BZh", "compressed by bzip2"},
	{"version https://git-lfs.github.com/", "a pointer of Git LFS, for which `git lfs pull` gets the file"},
}

// otherKind says what a file is that is no safetensors, by its first bytes; "" if they say nothing.
func otherKind(r io.ReaderAt, size int64) string {
	head := make([]byte, min(size, lookAt))
	if readAll(r, head, 0) != nil {
		return ""
	}
	if name, is := zipped(head); is {
		switch {
		case bytes.HasSuffix(name, []byte(".npy")):
			return "a zip file, an .npz of NumPy"
		case bytes.HasSuffix(name, []byte(".json")) || bytes.HasSuffix(name, []byte(".weights.h5")):
			return "a zip file, a .keras file of Keras"
		}
		return "a zip file, as .pt and .pth files of PyTorch are"
	}
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.mark)) {
			return m.kind
		}
	}
	switch {
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return "a tar archive"
	case len(head) == lookAt && bytes.HasPrefix(head[512:], []byte("\x89HDF\r\n\x1a\n")):
		return "HDF5, as .h5 files of Keras are"
	case len(head) == lookAt && len(bytes.Trim(head, "\x00")) == 0:
		return "zeros, as a download leaves that broke off"
	case len(head) > 0 && isText(head):
		return textKind(head)
	}
	return ""
}

// zipped returns the name of the first file in a zip file.
func zipped(head []byte) (name []byte, is bool) {
	const at = 30 // of the name
	if !bytes.HasPrefix(head, []byte("PK\x03\x04")) || len(head) < at {
		return nil, false
	}
	end := at + int(binary.LittleEndian.Uint16(head[26:]))
	return head[at:min(end, len(head))], true
}

// isText reports whether the first bytes of a file are of a text in UTF-8, of which the last letter may be cut.
func isText(head []byte) bool {
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 && utf8.FullRune(head[i:]) {
			return false
		}
		if r < ' ' && !bytes.ContainsRune([]byte("\t\n\r\f"), r) {
			return false
		}
		i += n
	}
	return true
}

// textKind says what a text is.
func textKind(head []byte) string {
	text := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff"))))
	switch {
	case bytes.HasPrefix(text, []byte("<!doctype html")) || bytes.HasPrefix(text, []byte("<html")):
		return "an HTML page"
	case bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")):
		return "JSON"
	}
	return "a text"
}
