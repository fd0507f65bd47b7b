package session

import (
	"testing"

	"github.com/oklog/ulid/v2"
)

func TestOnlyKeysOfTheAPIAdapterAreRequests(t *testing.T) {
	id := ulid.Make().String()
	for key, want := range map[string]bool{
		"api:request:" + id: true, "api:request:" + id + ":bg:" + id: true,
		"api:request:mine": false, "api:user:" + id: false, "chat:request:" + id: false, "api:request:": false,
	} {
		if IsRequest(key) != want {
			t.Errorf("IsRequest(%q) is %v", key, !want)
		}
	}
}

func TestWhichKeysAreATasks(t *testing.T) {
	for key, want := range map[string]bool{
		"chat:dm:1:bg:01ARZ3NDEKTSV4RRFFQ69G5FAV": true, "chat:dm:1": false, "chat:bg:1": false, "api:user:a:bg:b": false, "chat:dm:1:bg:": false,
	} {
		if got := IsBackground(key); got != want {
			t.Errorf("%q is a task's: %v, want %v", key, got, want)
		}
	}
}
