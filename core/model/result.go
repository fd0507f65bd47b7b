package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxReadable bounds a tool result as it is shown, in bytes.
const maxReadable = 64 << 10

// readable is a tool's JSON result for people: the output of a command and how it ended, rows as lines, an error as
// such, and anything else as it stands.
func readable(result string) string {
	text := strings.TrimRight(describe(decodeJSON(result), result), "\n")
	if len(text) > maxReadable {
		text = strings.ToValidUTF8(text[:maxReadable], "") + "\n[cut]"
	}
	if text == "" {
		return "(no output)"
	}
	return text
}

// decodeJSON returns nil for what is not JSON.
func decodeJSON(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return nil
	}
	return value
}

func describe(value any, raw string) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		return describeRows(v)
	case map[string]any:
		if _, isCommand := v["output"]; isCommand {
			return describeCommand(v)
		}
		if text, failed := v["error"]; failed && len(v) == 1 {
			return "error: " + scalar(text)
		}
		for _, only := range v {
			if rows, isList := only.([]any); isList && len(v) == 1 {
				return describeRows(rows)
			}
		}
		return strings.Join(describeMembers(v), "\n")
	default:
		return raw
	}
}

// describeCommand shows a result of the terminal tool (CONTRACT.md, 5).
func describeCommand(v map[string]any) string {
	var lines []string
	if out := strings.TrimRight(scalar(v["output"]), "\n"); out != "" {
		lines = append(lines, out)
	}
	if v["truncated"] == true {
		lines = append(lines, "[output truncated]")
	}
	if v["timed_out"] == true {
		lines = append(lines, "[timed out]")
	} else if code := scalar(v["exit_code"]); code != "" && code != "0" {
		lines = append(lines, "[exit code "+code+"]")
	}
	if v["error"] != nil {
		lines = append(lines, "error: "+scalar(v["error"]))
	}
	return strings.Join(lines, "\n")
}

func describeRows(rows []any) string {
	if len(rows) == 0 {
		return "(none)"
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		if object, ok := row.(map[string]any); ok {
			lines[i] = strings.Join(describeMembers(object), "  ")
		} else {
			lines[i] = scalar(row)
		}
	}
	return strings.Join(lines, "\n")
}

// describeMembers shows an object's members that say something, pid first.
func describeMembers(v map[string]any) []string {
	names := slices.Sorted(maps.Keys(v))
	if i := slices.Index(names, "pid"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "pid")
	}
	var fields []string
	for _, name := range names {
		if text := scalar(v[name]); text != "" {
			fields = append(fields, name+": "+text)
		}
	}
	return fields
}

func scalar(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number, bool:
		return fmt.Sprint(v)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// member returns one member of a result that is an object, for people.
func member(result, name string) (string, bool) {
	object, _ := decodeJSON(result).(map[string]any)
	value, ok := object[name]
	if rows, isList := value.([]any); isList {
		return describeRows(rows), true
	}
	return scalar(value), ok && value != nil
}
