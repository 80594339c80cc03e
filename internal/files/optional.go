package files

import "strconv"

// Optional is a number that may be missing, such as the standard deviation of one value, or a number that no paper
// prints. The zero Optional is missing. A number that is present may be NaN or infinite: a loss that diverged.
type Optional struct {
	Value float64 // 0 if missing
	Valid bool
}

// Some returns an Optional that is present.
func Some(v float64) Optional { return Optional{Value: v, Valid: true} }

// Or returns the number, or other if it is missing.
func (o Optional) Or(other float64) float64 {
	if o.Valid {
		return o.Value
	}
	return other
}

// String returns the shortest decimal that reads back as the number, or "" if it is missing.
func (o Optional) String() string {
	if !o.Valid {
		return ""
	}
	return strconv.FormatFloat(o.Value, 'g', -1, 64)
}

// MarshalText returns the text of [Optional.String], for CSV and JSON.
func (o Optional) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (o *Optional) UnmarshalText(text []byte) error {
	*o = Optional{}
	if len(text) == 0 {
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return Wanted(string(text), "a number of 64 bits", err)
	}
	*o = Some(v)
	return nil
}
