// Package longconn has the frames of Feishu's long connection: messages of Protocol Buffers, with fields and numbers as in pbbp2.pb.go of
// https://github.com/larksuite/oapi-sdk-go.
//
// It promises that Read never panics, and that a frame which Marshal wrote is read as the same one.
package longconn

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxHeaders bounds the headers of a frame.
const maxHeaders = 64

// What a frame is.
const (
	Control = 0
	Data    = 1
)

// Headers, and what HeaderType reads.
const (
	HeaderType = "type"
	// HeaderID names an event, of which HeaderSum is the number of frames and HeaderSeq the place of this one, from 0.
	HeaderID  = "message_id"
	HeaderSum = "sum"
	HeaderSeq = "seq"
	// HeaderTook is how long an event took, in milliseconds.
	HeaderTook = "biz_rt"

	TypePing  = "ping"
	TypePong  = "pong"
	TypeEvent = "event"
)

// Frame is one frame. The comments are the numbers of its fields.
type Frame struct {
	Seq, Log        uint64 // 1, 2
	Service, Method int32  // 3, 4
	Headers         []Header
	Encoding, Type  string // 6, 7
	Payload         []byte // 8
	LogNew          string // 9
}

// Header is field 5 of a frame.
type Header struct{ Key, Value string }

// Header is the value of a header; empty: there is none.
func (f Frame) Header(key string) string {
	for _, h := range f.Headers {
		if h.Key == key {
			return h.Value
		}
	}
	return ""
}

// Number is a header as a number; 0 if it is none.
func (f Frame) Number(key string) int {
	n, err := strconv.Atoi(f.Header(key))
	if err != nil {
		return 0
	}
	return n
}

// Ping is the frame that asks the peer for a sign of life.
func Ping(service int32) Frame {
	return Frame{Service: service, Method: Control, Headers: []Header{{HeaderType, TypePing}}}
}

// Marshal writes the frame.
func (f Frame) Marshal() (b []byte) {
	number := func(field protowire.Number, v uint64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	text := func(b []byte, field protowire.Number, v string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	number(1, f.Seq)
	number(2, f.Log)
	number(3, uint64(f.Service))
	number(4, uint64(f.Method))
	for _, h := range f.Headers {
		b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), text(text(nil, 1, h.Key), 2, h.Value))
	}
	b = text(b, 6, f.Encoding)
	b = text(b, 7, f.Type)
	b = protowire.AppendBytes(protowire.AppendTag(b, 8, protowire.BytesType), f.Payload)
	return text(b, 9, f.LogNew)
}

// Read reads a frame. Fields that are not known are skipped.
func Read(b []byte) (f Frame, err error) {
	err = fields(b, func(field protowire.Number, number uint64, text []byte) error {
		switch field {
		case 1:
			f.Seq = number
		case 2:
			f.Log = number
		case 3:
			f.Service = int32(number)
		case 4:
			f.Method = int32(number)
		case 5:
			if len(f.Headers) == maxHeaders {
				return errors.New("it has too many headers")
			}
			var h Header
			if err := fields(text, func(field protowire.Number, _ uint64, text []byte) error {
				switch field {
				case 1:
					h.Key = string(text)
				case 2:
					h.Value = string(text)
				}
				return nil
			}); err != nil {
				return err
			}
			f.Headers = append(f.Headers, h)
		case 6:
			f.Encoding = string(text)
		case 7:
			f.Type = string(text)
		case 8:
			f.Payload = text
		case 9:
			f.LogNew = string(text)
		}
		return nil
	})
	if err != nil {
		return Frame{}, fmt.Errorf("read a frame: %w", err)
	}
	return f, nil
}

// fields has each take the fields of a message, in order: a number or a text.
func fields(b []byte, each func(field protowire.Number, number uint64, text []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := each(field, number, text); err != nil {
			return err
		}
	}
	return nil
}
