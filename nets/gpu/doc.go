// Package gpu is the CUDA engine: it lowers the nets' Gorgonia graphs to kernels that train all active clients at once.
package gpu
