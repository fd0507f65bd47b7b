package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds a session's name, in bytes, so that its key stays within what a key may be.
const maxName = 200

// compact is a JSON value without spaces; empty for no value.
func compact(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return ""
	}
	return b.String()
}

func unsupported(name, why string) *problem {
	p := invalid(name, fmt.Sprintf("%s is not supported: %s", name, why))
	p.code = "unsupported_parameter"
	return p
}

// decodeStrict reads body into into. A parameter that into does not have is refused by name.
func decodeStrict(body []byte, into any) *problem {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return invalid("", "the body has something after its JSON object")
		}
		return nil
	}
	// The package has no type for this error.
	if quoted, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		name := strings.Trim(quoted, `"`)
		return unsupported(clean(name), "the gateway does not know this parameter")
	}
	return notJSON(err)
}

// checkName says whether name, from the request's part param, can name a session.
func checkName(name, param string) *problem {
	switch {
	case len(name) > maxName:
		return invalid(param, fmt.Sprintf("%s is longer than %d bytes", param, maxName))
	case !utf8.ValidString(name):
		return invalid(param, param+" is not valid UTF-8")
	case strings.TrimSpace(name) == "":
		return invalid(param, param+" is blank")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, invisible...) }):
		return invalid(param, param+" has control or format characters")
	}
	return nil
}

// notJSON says what is wrong with a body that does not decode.
func notJSON(err error) *problem {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return invalid("", fmt.Sprintf("the body is not valid JSON: %s at byte %d", clean(syntax.Error()), syntax.Offset))
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := strings.TrimPrefix(strings.TrimPrefix(wrong.Field, "Params."), "refusedParams.")
		what := field
		if what == "" {
			what = "the body"
		}
		got, _, _ := strings.Cut(wrong.Value, " ") // a number is followed by its digits
		return invalid(field, fmt.Sprintf("%s must be %s, not %s", what, jsonWord(wrong.Type), got))
	}
	return invalid("", "the body is not valid JSON: "+clean(err.Error()))
}

// jsonWord is what JSON calls the values of t.
func jsonWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	default:
		return "a string"
	}
}
