"""A small network trained on scikit-learn's digits, as a function, a module and a session."""

import warnings
from functools import cache

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier


@cache
def digits():
    data = load_digits()
    return np.asarray(data.images) / 16.0, np.asarray(data.target)


@cache
def weights():
    images, labels = digits()
    net = MLPClassifier((32,), max_iter=40, random_state=0, learning_rate_init=0.01, tol=0.0)
    net.set_params(n_iter_no_change=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is good enough long before it has converged
        net.fit(images.reshape(len(images), -1), labels)
    return (*net.coefs_, *net.intercepts_)


def logits(images):
    inner, outer, inner_bias, outer_bias = weights()
    hidden = np.maximum(np.asarray(images).reshape(len(images), -1) @ inner + inner_bias, 0.0)
    return hidden @ outer + outer_bias


def probabilities(images):
    scores = logits(images)
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def right(count, start=0):
    """Return images that are classified correctly, and their labels."""
    images, labels = digits()
    good = np.flatnonzero(logits(images).argmax(axis=1) == labels)[start : start + count]
    return images[good], labels[good]


@cache
def module():
    torch.set_num_threads(1)
    inner, outer, inner_bias, outer_bias = (torch.tensor(w, dtype=torch.float32) for w in weights())
    first, second = torch.nn.Linear(64, 32), torch.nn.Linear(32, 10)
    with torch.no_grad():
        first.weight.copy_(inner.T)
        first.bias.copy_(inner_bias)
        second.weight.copy_(outer.T)
        second.bias.copy_(outer_bias)
    return torch.nn.Sequential(torch.nn.Flatten(), first, torch.nn.ReLU(), second)


def onnx_model(batch="n", shape=(8, 8)):
    """Return the network in ONNX format, written by hand."""
    inner, outer, inner_bias, outer_bias = (w.astype(np.float32) for w in weights())
    stored = {"a": inner, "b": outer, "c": inner_bias, "e": outer_bias}
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("Gemm", ["flat", "a", "c"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "b", "e"], ["scores"]),
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in stored.items()]
    return onnx_file(nodes, tensors, batch=batch, shape=shape)


def onnx_file(nodes, stored, *, batch="n", shape=(8, 8), n_scores=10):
    """Return a network from ``x`` to ``scores`` in ONNX format."""
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *shape])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, n_scores])],
        stored,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model.SerializeToString()


def session(**options):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        onnx_model(**options), settings, providers=["CPUExecutionProvider"]
    )
