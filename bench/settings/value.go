package settings

import (
	"fmt"
	"maps"
	"strconv"

	"rollcall/algos"
)

// text returns the value of a setting in its one form, so that equal values have equal texts and runs equal names.
func (r *Row) text(s *Settings) string {
	if r.Field == nil {
		if text, given := s.OfMethods[r.Name]; given {
			return text
		}
		return r.DefaultFor(algos.Preset(s.Preset))
	}
	switch v := r.Field(s).(type) {
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		return decimal(*v)
	case *bool:
		return strconv.FormatBool(*v)
	case *Optional:
		if v.Value == nil {
			return v.String()
		}
		return r.decimal(*v.Value)
	case *string:
		return *v
	default:
		panic(fmt.Sprintf("settings: --%s: field of type %T", r.Name, v))
	}
}

// set sets the value of the setting in s.
func (r *Row) set(s *Settings, text string) error {
	text, err := r.parse(text)
	if err != nil {
		return err
	}
	if r.Field == nil {
		s.OfMethods = maps.Clone(s.OfMethods) // copies of s share the map
		if s.OfMethods == nil {
			s.OfMethods = algos.Values{}
		}
		s.OfMethods[r.Name] = text
		return nil
	}
	switch v := r.Field(s).(type) { // parse has already checked the text
	case *int:
		*v, err = strconv.Atoi(text)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *Optional:
		err = v.Set(text)
	case *string:
		*v = text
	default:
		panic(fmt.Sprintf("settings: --%s: field of type %T", r.Name, v))
	}
	return err
}

// parse returns the one form of a value of the setting's kind. It does not check the range.
func (r *Row) parse(text string) (string, error) {
	switch {
	case r.Kind == algos.Word, r.None && text == "none":
		return text, nil
	case r.Kind == algos.Switch:
		on, err := strconv.ParseBool(text)
		return strconv.FormatBool(on), err
	case r.Kind == algos.Whole && !r.None:
		n, err := strconv.ParseInt(text, 0, 64) // base 16 and 8 as well, as flags are read
		return strconv.FormatInt(n, 10), err
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && r.None {
		return "", fmt.Errorf("%q is neither a number nor none", text)
	}
	return r.decimal(x), err
}

// decimal returns a number in the one form of its kind. A whole number has no exponent: seeds have up to ten digits.
func (r *Row) decimal(x float64) string {
	if r.Kind == algos.Whole {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return decimal(x)
}

// decimal returns the shortest text that reads back as the same number.
func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
