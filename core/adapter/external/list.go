package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxList bounds each list of a line, in elements.
const maxList = 100

// list is a list of a line. One of more than maxList elements is an error before they are made: a line of 32 MiB has room for millions, and each
// takes many times its text.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	switch begin, err := d.Token(); {
	case err != nil:
		return err
	case begin == nil: // null
		return nil
	case begin != json.Delim('['):
		return errors.New("a list was expected")
	}
	*l = nil
	for d.More() {
		if len(*l) == maxList {
			return fmt.Errorf("a list has more than %d elements", maxList)
		}
		var one T
		if err := d.Decode(&one); err != nil {
			return err
		}
		*l = append(*l, one)
	}
	return nil
}
