//go:build gpu && linux && cgo

package gpu

import (
	"errors"

	"rollcall/nets/gpu/driver"
)

// Cards returns the NVIDIA cards of this machine, usable or not. An error says why there is no driver, or no card.
func Cards() ([]Card, error) {
	devices, err := driver.Devices()
	if err != nil {
		return nil, err
	}
	cards := make([]Card, len(devices))
	for i, d := range devices {
		cards[i] = Card{
			Index: d.Index, Name: d.Name, Memory: d.Memory, Capability: d.Capability(), Driver: d.DriverVersion(),
			Multiprocessors: d.Multiprocessors, Unusable: d.Unusable,
		}
	}
	return cards, nil
}

// OutOfMemory reports whether an error of an engine or of [Open] means that memory ran out: memory of the card, or host
// memory that can be pinned.
func OutOfMemory(err error) bool { return errors.Is(err, driver.ErrOutOfMemory) }
