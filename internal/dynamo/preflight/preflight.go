// Package preflight checks whether a stack can adopt an app's existing table. It reads the table's description and a
// bounded sample of its records, writes nothing, and says what would break, why, and what to do about it.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/throughline/throughline/internal/dynamo/table"
)

// TableAPI is the part of DynamoDB that the check reads. *dynamodb.Client implements it.
type TableAPI interface {
	DescribeTable(
		context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options),
	) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(
		context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options),
	) (*dynamodb.DescribeTimeToLiveOutput, error)
	DescribeContinuousBackups(
		context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options),
	) (*dynamodb.DescribeContinuousBackupsOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Services are what the check reads.
type Services struct {
	Table TableAPI
	// KeyManager returns who manages a KMS key: "AWS" or "CUSTOMER".
	KeyManager func(ctx context.Context, keyARN string) (string, error)
	// Consumers returns the names of the Lambda functions that a stream is mapped to.
	Consumers func(ctx context.Context, streamARN string) ([]string, error)
}

// Options bound what the check reads.
type Options struct {
	Table  string
	Region string // for the commands of the report
	// SampleItems is the most records that are read; 0 reads none. SampleUnits is the most read units that they may
	// cost, to which the last request of each segment may add 1 MB.
	SampleItems int
	SampleUnits float64
}

// Level says how bad a finding is.
type Level string

// The levels of findings.
const (
	// Error is a finding that breaks Throughline or the app. The table must not be adopted before it is mended.
	Error Level = "error"
	// Warning is a finding that the owner has to know and decide about.
	Warning Level = "warning"
	// OK is a check that found nothing.
	OK Level = "ok"
)

// Finding is what one check found.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Found says what the table has.
	Found string `json:"found"`
	// Breaks says what would not work, and Mend what to do about it. Commands are commands of the AWS CLI that do it.
	Breaks   string   `json:"breaks,omitempty"`
	Mend     string   `json:"mend,omitempty"`
	Commands []string `json:"commands,omitempty"`
	// Count is how many records of the sample a finding is about, and Examples are the keys of some of them.
	Count    int      `json:"count,omitempty"`
	Examples []string `json:"examples,omitempty"`
}

// Report is the result of a check.
type Report struct {
	Table string `json:"table"`
	// Ready reports whether nothing was found that breaks.
	Ready bool `json:"ready"`
	// Parameters are the template's parameters for this table.
	Parameters map[string]string `json:"parameters"`
	Sample     Sample            `json:"sample"`
	Findings   []Finding         `json:"findings"`
}

// check is one run.
type check struct {
	services Services
	options  Options
	cli      cli
	table    *types.TableDescription
	want     *dynamodb.CreateTableInput
	report   Report
	// expires is the attribute by which the table's records expire, or empty.
	expires string
}

// Run checks a table. Its error says that the table could not be described at all. What the caller has no right to read
// is a finding.
func Run(ctx context.Context, s Services, o Options) (Report, error) {
	out, err := s.Table.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(o.Table)})
	if err != nil {
		return Report{}, fmt.Errorf("describe table %s: %w", o.Table, err)
	}
	c := &check{
		services: s, options: o, cli: cli{o.Region, o.Table}, table: out.Table, want: table.CreateTableInput(o.Table),
	}
	c.report = Report{Table: o.Table, Parameters: map[string]string{"ExistingTableName": o.Table}}
	c.keys()
	c.status()
	c.stream(ctx)
	c.timeToLive(ctx)
	c.encryption(ctx)
	c.indexes()
	c.appIndexes()
	c.capacity()
	c.protection(ctx)
	if err := c.records(ctx); err != nil {
		return Report{}, err
	}
	c.report.Ready = !slices.ContainsFunc(c.report.Findings, func(f Finding) bool { return f.Level == Error })
	return c.report, nil
}

func (c *check) add(level Level, name, found, breaks, mend string, commands ...string) {
	c.report.Findings = append(c.report.Findings, newFinding(level, name, found, breaks, mend, commands...))
}

func newFinding(level Level, name, found, breaks, mend string, commands ...string) Finding {
	return Finding{Check: name, Level: level, Found: found, Breaks: breaks, Mend: mend, Commands: commands}
}

func (c *check) ok(name, found string) { c.add(OK, name, found, "", "") }

// unread adds a finding about something that could not be read.
func (c *check) unread(name, action string, err error) {
	c.add(Warning, name, "could not be read: "+reason(err), "nothing is known about it",
		"look yourself, or allow "+action+" and check again")
}

// reason is the part of a service's error that a person needs.
func reason(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return strings.TrimSuffix(api.ErrorCode()+": "+api.ErrorMessage(), ": ")
	}
	return err.Error()
}
