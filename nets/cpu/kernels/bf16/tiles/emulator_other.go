//go:build !linux || !amd64 || !cgo

package tiles

// Install reports whether the processor itself has AMX: the emulator is not part of this build.
func Install() (ok bool, why string) {
	return native(), "tiles: built without cgo, or not for Linux on amd64"
}

// Remove does nothing.
func Remove() {}

// Emulating returns false.
func Emulating() bool { return false }

// Emulated returns 0: no instructions are emulated.
func Emulated() int { return 0 }

// InUse returns false: there are no emulated tiles.
func InUse() bool { return false }

// Multiply panics: the emulator is not part of this build.
func Multiply([]float32, []uint16, []uint16, int, int, int) { panic("tiles: not part of this build") }
