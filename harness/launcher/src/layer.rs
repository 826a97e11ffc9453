//! Layers of `torch.nn` that a file constructs itself: their parameters, and the shapes of their results. Layers that `self` has
//! from elsewhere are inputs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::arguments::Arguments;
use super::machine::Machine;
use super::tensor::Fill;
use super::value::{Dtype, Number, Value};

/// The attribute by which a layer's call knows that it is a `torch.nn.Linear`.
const OUT_FEATURES: &str = "out_features";

impl<'a> Machine<'a> {
    /// A layer of `torch.nn`, or a parameter; `None` for those that are not known.
    pub fn make_layer(&mut self, name: &str, args: &Arguments<'a>) -> Option<Value<'a>> {
        let number = |at: usize, name: &str| args.get(at, name).and_then(|value| value.number());
        let (weight, biased) = match name {
            "Parameter" => return args.get(0, "data"),
            "Linear" => {
                let (input, output) = (number(0, "in_features")?, number(1, OUT_FEATURES)?);
                (vec![output, input], vec![output])
            }
            "Embedding" => (
                vec![number(0, "num_embeddings")?, number(1, "embedding_dim")?],
                Vec::new(),
            ),
            "LayerNorm" | "RMSNorm" => {
                let shape = args.get(0, "normalized_shape")?;
                let shape = shape.number().map(|one| vec![one]).or_else(|| shape.numbers())?;
                let biased = if name == "LayerNorm" {
                    shape.clone()
                } else {
                    Vec::new()
                };
                (shape, biased)
            }
            _ => return None,
        };
        let dtype = match args.keyword("dtype") {
            Some(Value::Dtype(dtype, _)) => dtype,
            _ => Dtype::torch("f32"),
        };
        let mut fields = BTreeMap::new();
        if name == "Linear" {
            fields.insert(OUT_FEATURES.to_owned(), Value::Int(*weight.first()?));
        }
        fields.insert("weight".to_owned(), self.allocate(weight, &dtype, Fill::Computed));
        let has_bias = !matches!(args.keyword("bias"), Some(Value::Bool(false, _)));
        let bias = if has_bias && !biased.is_empty() {
            self.allocate(biased, &dtype, Fill::Computed)
        } else {
            Value::NONE
        };
        fields.insert("bias".to_owned(), bias);
        Some(Value::Object(Rc::new(RefCell::new(fields))))
    }

    /// Calls a layer with a tensor, and returns a tensor of its result's shape; `None` if the layer is not known.
    pub fn call_layer(
        &mut self,
        fields: &BTreeMap<String, Value<'a>>,
        args: &Arguments<'a>,
    ) -> Option<Value<'a>> {
        let output: Number = fields.get(OUT_FEATURES)?.number()?;
        let Value::Tensor(tensor) = args.positional.first()? else {
            return None;
        };
        let mut shape = tensor.shape.clone();
        *shape.last_mut()? = output;
        let dtype = tensor.dtype.clone();
        Some(self.allocate(shape, &dtype, Fill::Computed))
    }
}
