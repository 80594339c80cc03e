package settings

import (
	"fmt"
	"strconv"
)

// Optional is the value of a setting that is a number or "none". The zero value is none.
type Optional struct{ Value *float64 }

// Some returns an Optional with a number.
func Some(v float64) Optional { return Optional{&v} }

// Or returns the number, or other if there is none.
func (o Optional) Or(other float64) float64 {
	if o.Value == nil {
		return other
	}
	return *o.Value
}

// String returns the shortest text that reads back as the same number, or "none".
func (o Optional) String() string {
	if o.Value == nil {
		return "none"
	}
	return decimal(*o.Value)
}

// Set reads the text that String returns.
func (o *Optional) Set(text string) error {
	if text == "none" {
		o.Value = nil
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q is neither a number nor none", text)
	}
	o.Value = &v
	return nil
}
