package botapitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// maxUpload is the most bytes of a call that are kept in memory.
const maxUpload = 64 << 20

// arguments reads a call's parameters from a JSON body, a form, or the query. Files of a form stay in it.
func arguments(r *http.Request) (map[string]string, error) {
	args := map[string]string{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		for k, v := range body {
			var s string
			if json.Unmarshal(v, &s) != nil {
				s = string(v)
			}
			args[k] = s
		}
		return args, nil
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		if err := r.ParseMultipartForm(maxUpload); err != nil {
			return nil, fmt.Errorf("read the form: %w", err)
		}
	} else if err := r.ParseForm(); err != nil {
		return nil, fmt.Errorf("read the form: %w", err)
	}
	for k, v := range r.Form {
		args[k] = v[0]
	}
	return args, nil
}

func answer(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result}) // the client may have gone
}

// usual are Telegram's words where they are not those of HTTP.
var usual = map[int]string{
	403: "Forbidden: bot was blocked by the user",
	409: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
	429: "Too Many Requests: retry later",
}

// refuse answers 400 with Telegram's words.
func refuse(w http.ResponseWriter, why string) {
	fail(w, Fault{Code: 400, Description: "Bad Request: " + why})
}

func fail(w http.ResponseWriter, f Fault) {
	body := map[string]any{"ok": false, "error_code": f.Code, "description": f.Description}
	if f.Description == "" {
		body["description"] = cmp.Or(usual[f.Code], http.StatusText(f.Code))
	}
	parameters := map[string]int64{}
	if f.RetryAfter > 0 {
		parameters["retry_after"] = int64(f.RetryAfter)
	}
	if f.Migrate != 0 {
		parameters["migrate_to_chat_id"] = f.Migrate
	}
	if len(parameters) > 0 {
		body["parameters"] = parameters
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Code)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}
