package longconn

import (
	"bytes"
	"reflect"
	"testing"
)

// FuzzRead: no bytes make Read panic, and a frame that was read is written as one that is read the same.
func FuzzRead(f *testing.F) {
	f.Add(Ping(7).Marshal())
	f.Add(Frame{Seq: 1, Log: 2, Service: -3, Method: Data, Headers: []Header{{HeaderSum, "2"}, {HeaderSeq, "x"}}, Encoding: "e", Type: "t", Payload: []byte("p"), LogNew: "n"}.Marshal())
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := Read(b)
		if err != nil {
			return
		}
		if len(first.Headers) > maxHeaders {
			t.Errorf("%d headers", len(first.Headers))
		}
		again, err := Read(first.Marshal())
		first.Payload, again.Payload = bytes.Clone(first.Payload), bytes.Clone(again.Payload)
		if len(first.Payload) == 0 {
			first.Payload, again.Payload = nil, nil
		}
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Errorf("%+v became %+v: %v", first, again, err)
		}
	})
}

func TestAFrameIsReadByTheNumbersOfItsFields(t *testing.T) {
	f, err := Read([]byte("\x08\x00\x10\x00\x18\xf6\x80\x80\x10\x20\x00\x2a\x0c\x0a\x04type\x12\x04ping"))
	if err != nil || f.Service != 33554550 || f.Method != Control || f.Header(HeaderType) != TypePing || f.Number(HeaderType) != 0 {
		t.Errorf("%+v: %v", f, err)
	}
}
