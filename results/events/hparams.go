package events

import (
	"encoding/json"
	"maps"
	"slices"

	"rollcall/results"
)

// The tab HPARAMS has a row for each folder whose events have a session: its hyperparameters are in a first event, its
// status in a last one, and its metrics are its scalars (tensorboard/plugins/hparams: metadata.py, plugin_data.proto).
// Without an experiment, whose event would be in a folder above all runs, the tab finds the columns by itself.

// The tags of a session, and the field of HParamsPluginData that belongs to each.
const (
	startTag, startField = "_hparams_/session_start_info", 3
	endTag, endField     = "_hparams_/session_end_info", 4
)

// nullTensor is a tensorflow.TensorProto of no number: dtype = 1 (DT_FLOAT), tensor_shape = 2 with a dim = 2 of size 0.
var nullTensor = []byte{1 << 3, 1, 2<<3 | delimited, 2, 2<<3 | delimited, 0}

// session returns a tensorflow.Summary with a message of the plugin in the metadata of its only value. A value has the
// fields tag = 1, tensor = 8 and metadata = 9; this has plugin_data = 1, with plugin_name = 1 and content = 2.
func session(tag string, field int, message []byte) []byte {
	plugin := appendBytes(appendBytes(nil, 1, []byte("hparams")), 2, appendBytes(nil, field, message))
	value := appendBytes(appendBytes(nil, 1, []byte(tag)), 8, nullTensor)
	return appendBytes(nil, 1, appendBytes(value, 9, appendBytes(nil, 1, plugin)))
}

// sessionStart returns the summary of a SessionStartInfo: hparams = 1 (map of string to google.protobuf.Value) and
// start_time_secs = 5 (double).
func sessionStart(info results.RunInfo) ([]byte, error) {
	params, err := hparams(info)
	if err != nil {
		return nil, err
	}
	var message []byte
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value, err := protoValue(params[name])
		if err != nil {
			return nil, err
		}
		if value != nil {
			message = appendBytes(message, 1, appendBytes(appendBytes(nil, 1, []byte(name)), 2, value))
		}
	}
	return session(startTag, startField, appendDouble(message, 5, seconds(info.Started))), nil
}

// hparams returns every setting of a run by its name, as encoding/json has decoded it, with the seed and the numerics.
func hparams(info results.RunInfo) (map[string]any, error) {
	text, err := json.Marshal(info.Settings)
	if err != nil {
		return nil, err
	}
	params := map[string]any{"seed": float64(info.Seed)}
	if info.Numerics != "" {
		params["numerics"] = info.Numerics
	}
	var settings map[string]any // which may be null
	err = json.Unmarshal(text, &settings)
	maps.Copy(params, settings)
	return params, err
}

// protoValue returns a google.protobuf.Value: number_value = 2 (double), string_value = 3 or bool_value = 4. Lists and
// objects, which the plugin does not take, are JSON. A value of null is none.
func protoValue(value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case float64:
		return appendDouble(nil, 2, v), nil
	case string:
		return appendBytes(nil, 3, []byte(v)), nil
	case bool:
		out := appendKey(nil, 4, varint)
		if v {
			return append(out, 1), nil
		}
		return append(out, 0), nil
	}
	text, err := json.Marshal(value)
	return appendBytes(nil, 3, text), err
}

// sessionEnd returns the summary of a SessionEndInfo: status = 1 (0 unknown, 1 success, 2 failure) and
// end_time_secs = 2 (double). A run that was interrupted has neither succeeded nor failed.
func sessionEnd(info results.RunInfo) []byte {
	status := byte(0)
	switch info.Status {
	case results.RunComplete:
		status = 1
	case results.RunFailed, results.RunDiverged:
		status = 2
	}
	message := append(appendKey(nil, 1, varint), status)
	return session(endTag, endField, appendDouble(message, 2, seconds(info.Finished)))
}
