package sass

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"time"
)

// Wheel is a package of PyPI that holds one of NVIDIA's tools or headers, for Linux on x86-64.
type Wheel struct {
	Name   string // of the folder in the cache: package and version
	Path   string // of the file, at the host of PyPI's files
	SHA256 string // of the file, in hexadecimal
	Member string // the one file of the wheel that is used
	Sum    string // its SHA-256
}

// host is where PyPI keeps the files of its packages.
const host = "https://files.pythonhosted.org/packages/"

// The pinned tools. The assemblers are those of the oldest and of the newest driver: CUDA 12.0 is the oldest release
// that package driver accepts.
var (
	oldest = Wheel{
		"nvcc-12.0.76",
		"4d/3a/e6a5c9cf2711b13652066b6d594e0453e98f438eb0d07a99dac5ab3f2f9b/" +
			"nvidia_cuda_nvcc_cu12-12.0.76-py3-none-manylinux1_x86_64.whl",
		"c989c1d8f52b4f52016dcdd702d62ae4969d4fc349517eeb9fecae652a3d1388", "bin/ptxas",
		"c92ffef90fecfa699f069d9681220e07e2166b9150c8a8f7e1affe3e74241d37",
	}
	newest = Wheel{
		"nvcc-13.5.37",
		"0b/7d/21c734e63423dc53fb1b1ebbb6dee84e9ccafbeeaa30e9ae07e6fdcdd15b/" +
			"nvidia_cuda_nvcc-13.5.37-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
		"f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7", "bin/ptxas",
		"b3e295413e9628ee261a63ea3f70ec5af20988c9809214c064661662206574a3",
	}
	disassembler = Wheel{
		"nvdisasm-13.5.37",
		"64/4a/c84a14209a549d97831a02d111d943f47c995d4d3beaa3416daa3b534abb/" +
			"nvidia_cuda_nvdisasm-13.5.37-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
		"d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca", "bin/nvdisasm",
		"3bf19e7ab706ed8f68ecc2403d277b97dc110c52e0ac4c4f0c8eada5f7889c3c",
	}
)

// Headers are the headers of the driver that the oldest and the newest release of CUDA come with. The test of
// package driver compares ours with them.
var Headers = []Wheel{
	{
		"runtime-12.0.107",
		"4d/48/4bad3b9f403c6ed590fe7b8c0b394fe722176661d47a8424a3d089a89c54/" +
			"nvidia_cuda_runtime_cu12-12.0.107-py3-none-manylinux1_x86_64.whl",
		"9ab985dd92728e1c577bb75ae83dcc42357ce7c00016c782e8b196f6fea05b91", "include/cuda.h",
		"a10c3f54c0c916ccfa7e4a260f38a67c19229df66241c21d681c58e22c43e95f",
	},
	{
		"runtime-13.5.37",
		"0b/7c/14b8f5518f8951e9dca57ea80f44f8ea8bcc8671812e6cc38009f3205e57/" +
			"nvidia_cuda_runtime-13.5.37-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
		"df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d", "include/cuda.h",
		"f4250132eae986e244c693f562f81bdaa919c378665228bece23182da33a39b0",
	},
}

// ErrUnavailable is wrapped by the errors that say that a tool cannot be had on this machine: there is no network, or
// the tool does not run here. A wrong checksum is no such error.
var ErrUnavailable = errors.New("cannot be had")

// Fetch returns the path of the wheel's file in the user's cache, and gets it from PyPI if it is not there or another.
func Fetch(ctx context.Context, w Wheel) (string, error) { return fetch(ctx, w, host+w.Path) }

func fetch(ctx context.Context, w Wheel, url string) (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("sass: %s: %w on %s/%s: only for linux/amd64",
			w.Name, ErrUnavailable, runtime.GOOS, runtime.GOARCH)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("sass: %s: %w", w.Name, err)
	}
	file := filepath.Join(cache, "rollcall", "cuda", w.Name, path.Base(w.Member))
	// What lies in the cache is looked at each time: it is run.
	if was, err := os.ReadFile(file); err == nil && isSum(was, w.Sum) {
		return file, nil
	}
	wheel, err := download(ctx, url)
	if err != nil {
		return "", fmt.Errorf("sass: %s: %w", w.Name, err)
	}
	if !isSum(wheel, w.SHA256) {
		return "", fmt.Errorf("sass: %s: SHA-256 %x, want %s", w.Name, sha256.Sum256(wheel), w.SHA256)
	}
	content, err := member(wheel, w.Member)
	if err != nil {
		return "", fmt.Errorf("sass: %s: %w", w.Name, err)
	}
	if !isSum(content, w.Sum) {
		return "", fmt.Errorf("sass: %s: %s: SHA-256 %x, want %s", w.Name, w.Member, sha256.Sum256(content), w.Sum)
	}
	return file, install(file, content)
}

// isSum reports whether a content has a SHA-256, in hexadecimal.
func isSum(content []byte, want string) bool {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]) == want
}

// download returns what lies at an address. An error wraps ErrUnavailable if the network or the server is at fault, and
// not the address.
func download(ctx context.Context, url string) ([]byte, error) {
	timed, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(timed, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%s: %s", url, answer.Status)
	default:
		return nil, fmt.Errorf("%w: %s: %s", ErrUnavailable, url, answer.Status)
	}
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("%w: %s: %w", ErrUnavailable, url, err))
	}
	return content, nil
}

// member returns the one file of a wheel whose path ends in name.
func member(wheel []byte, name string) ([]byte, error) {
	files, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		return nil, err
	}
	for _, f := range files.File {
		if ok, _ := path.Match("nvidia/*/"+name, f.Name); ok {
			content, err := f.Open()
			if err != nil {
				return nil, err
			}
			defer content.Close()
			return io.ReadAll(content)
		}
	}
	return nil, fmt.Errorf("no %s in the wheel", name)
}

// install writes a file that may be executed, in one step, so that whoever finds it finds all of it.
func install(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return err
	}
	_, err = t.Write(content)
	err = errors.Join(err, t.Chmod(0o755), t.Close())
	if err == nil {
		err = os.Rename(t.Name(), file)
	}
	if err != nil {
		_ = os.Remove(t.Name()) // what could not be written whole
	}
	return err
}
