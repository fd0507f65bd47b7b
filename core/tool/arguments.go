package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// decode reads a call's arguments, as a model wrote them, into the struct that into points to. Empty input and null mean
// no arguments. The error is for the model: it names the wrong argument and the valid ones.
func decode(arguments json.RawMessage, into any) error {
	arguments = bytes.TrimSpace(arguments)
	if len(arguments) == 0 || bytes.Equal(arguments, []byte("null")) {
		return nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return errors.New("the arguments must be one JSON object")
		}
		return fmt.Errorf("the arguments are not valid JSON: %w", err)
	}
	known := argumentNames(into)
	for name := range given {
		// encoding/json would accept COMMAND for command; a model that sees the error writes it correctly the next time.
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown argument %q; this tool takes %s", name, strings.Join(known, ", "))
		}
	}
	err := json.Unmarshal(arguments, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("argument %q must be %s, not a %s", wrong.Field, jsonKind(wrong.Type), wrong.Value)
	}
	return err
}

// argumentNames is the json names of a struct's fields, in their order.
func argumentNames(into any) []string {
	t := reflect.TypeOf(into).Elem()
	names := make([]string, 0, t.NumField())
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// jsonKind names the type t for a model.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Int:
		return "a whole number"
	default:
		return "a number"
	}
}

// required is the error of a missing argument.
func required(name string) error { return fmt.Errorf("argument %q is required", name) }
