package config

import (
	"errors"
	"net/url"
)

// Tracing configures where the spans of the functions are sent. The variables are OpenTelemetry's own.
type Tracing struct {
	// Endpoint is the base address of a collector that takes OTLP over HTTP. Empty means that there are no spans.
	Endpoint Endpoint `env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	// Headers are what the collector asks for, such as "api-key=secret,x=y", where they are in no secret.
	Headers string `env:"OTEL_EXPORTER_OTLP_HEADERS"`
}

// Secrets lists the keys that a function needs to send its spans, which is none without a collector.
func (t Tracing) Secrets() []Secret {
	if t.Endpoint == "" {
		return nil
	}
	return []Secret{OTLPHeaders}
}

// Endpoint is the address of an HTTP service.
type Endpoint string

// UnmarshalText refuses what is no such address.
func (e *Endpoint) UnmarshalText(text []byte) error {
	*e = Endpoint(text)
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("not an address")
	}
	return nil
}
